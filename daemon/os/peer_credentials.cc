// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "os/peer_credentials.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <algorithm>
#include <array>
#include <cinttypes>
#include <cstdio>
#include <string>

namespace hb::os {
namespace {

constexpr int kSoPeerPidfd = 77;  // Debian 12's headers are older than Linux 6.5

tl::expected<std::vector<std::uint32_t>, SysError> peer_groups(int socket) {
  std::vector<std::uint32_t> groups(32);
  for (;;) {
    socklen_t bytes = static_cast<socklen_t>(groups.size() * sizeof(std::uint32_t));
    if (::getsockopt(socket, SOL_SOCKET, SO_PEERGROUPS, groups.data(), &bytes) == 0) {
      groups.resize(bytes / sizeof(std::uint32_t));
      return groups;
    }
    if (errno == ENODATA) return std::vector<std::uint32_t>{};  // the peer has no supplementary groups
    // ERANGE tells the size that is needed; the credentials are those of connect(), so it cannot grow.
    if (errno != ERANGE || bytes / sizeof(std::uint32_t) <= groups.size()) {
      return tl::unexpected(SysError::last("getsockopt(SO_PEERGROUPS)"));
    }
    groups.resize(bytes / sizeof(std::uint32_t));
  }
}

// One of the four uids of /proc/PID/status is `uid`: a process that changed its own since connect() still
// counts, another user's process does not.
bool process_has_uid(std::uint32_t pid, std::uint32_t uid) {
  const std::string path = "/proc/" + std::to_string(pid) + "/status";
  std::FILE* file = std::fopen(path.c_str(), "re");
  if (file == nullptr) return false;
  std::array<char, 256> line{};
  bool found = false;
  while (std::fgets(line.data(), static_cast<int>(line.size()), file) != nullptr) {
    std::array<std::uint32_t, 4> ids{};
    if (std::sscanf(line.data(), "Uid: %" SCNu32 " %" SCNu32 " %" SCNu32 " %" SCNu32, &ids[0], &ids[1],
                    &ids[2], &ids[3]) == 4) {
      found = std::find(ids.begin(), ids.end(), uid) != ids.end();
      break;
    }
  }
  std::fclose(file);
  return found;
}

// For kernels before 6.5. The pid may have been used again since connect().
tl::expected<void, PeerFailure> open_pidfd(PeerCredentials& peer) {
  if (peer.pid == 0) {
    peer.source = PidfdSource::kNoPid;
    return {};
  }
  UniqueFd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, static_cast<pid_t>(peer.pid), 0u)));
  if (!pidfd) {
    const SysError error = SysError::last("pidfd_open");
    if (error.code == ESRCH) return tl::unexpected(PeerFailure{true, {}});
    if (error.code != ENOSYS) return tl::unexpected(PeerFailure{false, error});
    peer.source = PidfdSource::kNoKernel;
    return {};
  }
  if (!process_has_uid(peer.pid, peer.uid)) {
    if (!process_alive(pidfd)) return tl::unexpected(PeerFailure{true, {}});
    peer.source = PidfdSource::kUnverified;
    peer.pid = 0;
    return {};
  }
  peer.pidfd = std::move(pidfd);
  peer.source = PidfdSource::kOpened;
  return {};
}

}  // namespace

void drop_unmapped(PeerCredentials& peer, const IdMaps& maps) {
  peer.uid_known = maps.uids.tells(peer.uid);
  std::erase_if(peer.groups, [&maps](std::uint32_t group) { return !maps.gids.tells(group); });
}

bool process_alive(const UniqueFd& pidfd) {
  pollfd entry{pidfd.get(), POLLIN, 0};
  return ::poll(&entry, 1, 0) == 0;
}

tl::expected<std::uint32_t, SysError> peer_uid(const UniqueFd& socket) {
  ucred credentials{};
  socklen_t bytes = sizeof(credentials);
  if (::getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &credentials, &bytes) != 0) {
    return tl::unexpected(SysError::last("getsockopt(SO_PEERCRED)"));
  }
  return credentials.uid;
}

tl::expected<PeerCredentials, PeerFailure> peer_credentials(const UniqueFd& connected) {
  const int socket = connected.get();
  PeerCredentials peer;
  ucred credentials{};
  socklen_t bytes = sizeof(credentials);
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &bytes) != 0) {
    return tl::unexpected(PeerFailure{false, SysError::last("getsockopt(SO_PEERCRED)")});
  }
  peer.pid = credentials.pid > 0 ? static_cast<std::uint32_t>(credentials.pid) : 0;
  peer.uid = credentials.uid;
  peer.gid = credentials.gid;

  auto groups = peer_groups(socket);
  if (!groups) return tl::unexpected(PeerFailure{false, groups.error()});
  peer.groups = std::move(*groups);
  peer.groups.push_back(peer.gid);
  std::sort(peer.groups.begin(), peer.groups.end());
  peer.groups.erase(std::unique(peer.groups.begin(), peer.groups.end()), peer.groups.end());
  static const IdMaps maps = IdMaps::of_process();  // a map is written once
  drop_unmapped(peer, maps);

  int pidfd = -1;
  bytes = sizeof(pidfd);
  if (::getsockopt(socket, SOL_SOCKET, kSoPeerPidfd, &pidfd, &bytes) == 0) {
    peer.pidfd = UniqueFd(pidfd);
    peer.source = PidfdSource::kSocket;
  } else {
    const SysError error = SysError::last("getsockopt(SO_PEERPIDFD)");
    // Linux 6.5 to 6.12 answer EINVAL or ESRCH for a peer that has been reaped.
    if (error.code == EINVAL || error.code == ESRCH) return tl::unexpected(PeerFailure{true, {}});
    if (error.code != ENOPROTOOPT && error.code != ENODATA) {
      return tl::unexpected(PeerFailure{false, error});
    }
    if (auto opened = open_pidfd(peer); !opened) return tl::unexpected(opened.error());
  }
  if (peer.pidfd && !process_alive(peer.pidfd)) return tl::unexpected(PeerFailure{true, {}});
  return peer;
}

}  // namespace hb::os
