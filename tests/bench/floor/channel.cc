// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "bench/floor/channel.h"

#include <linux/close_range.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>

#include "bench/harness/check.h"

namespace hb::bench {

std::pair<UniqueFd, UniqueFd> make_channel() {
  int pair[2];
  HB_BENCH_CHECK(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0);
  return {UniqueFd(pair[0]), UniqueFd(pair[1])};
}

UniqueFd make_memory(std::size_t bytes) {
  UniqueFd memory(::memfd_create("bench", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  HB_BENCH_CHECK(memory);
  HB_BENCH_CHECK(::ftruncate(memory.get(), static_cast<off_t>(bytes)) == 0);
  // The product's own demand; the floor takes the same so that both map the same kind of object.
  HB_BENCH_CHECK(::fcntl(memory.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0);
  return memory;
}

PreparedMessage::PreparedMessage(std::span<const char> bytes, std::span<const UniqueFd> fds) {
  HB_BENCH_CHECK(fds.size() <= kMaxFds);
  vector_ = {const_cast<char*>(bytes.data()), bytes.size()};
  message_.msg_iov = &vector_;
  message_.msg_iovlen = 1;
  if (fds.empty()) return;
  message_.msg_control = control_;
  message_.msg_controllen = CMSG_SPACE(sizeof(int) * fds.size());
  cmsghdr* header = CMSG_FIRSTHDR(&message_);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof(int) * fds.size());
  for (std::size_t i = 0; i < fds.size(); ++i) {
    const int fd = fds[i].get();
    std::memcpy(CMSG_DATA(header) + i * sizeof fd, &fd, sizeof fd);
  }
}

bool PreparedMessage::send(int socket) const {
  const ssize_t sent = ::sendmsg(socket, &message_, MSG_NOSIGNAL);
  if (sent == static_cast<ssize_t>(vector_.iov_len)) return true;
  if (errno == EPIPE || errno == ECONNRESET) return false;
  die("sendmsg of %zu bytes", vector_.iov_len);
}

ssize_t receive_message(int socket, std::span<char> bytes, std::span<int> fds, std::size_t& fd_count) {
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * kMaxFds)];
  iovec vector{bytes.data(), bytes.size()};
  msghdr message{};
  message.msg_iov = &vector;
  message.msg_iovlen = 1;
  message.msg_control = fd_count > 0 ? control : nullptr;
  message.msg_controllen = fd_count > 0 ? CMSG_SPACE(sizeof(int) * fd_count) : 0;
  const ssize_t received = ::recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
  fd_count = 0;
  if (received <= 0) return received;
  if ((message.msg_flags & (MSG_CTRUNC | MSG_TRUNC)) != 0) die("truncated packet");
  for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr; header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    HB_BENCH_CHECK(fd_count + count <= fds.size());
    std::memcpy(fds.data() + fd_count, CMSG_DATA(header), count * sizeof(int));
    fd_count += count;
  }
  return received;
}

void close_runs(std::span<const int> fds) {
  for (std::size_t first = 0; first < fds.size();) {
    std::size_t end = first + 1;
    while (end < fds.size() && fds[end] == fds[end - 1] + 1) ++end;
    HB_BENCH_CHECK(::close_range(static_cast<unsigned>(fds[first]), static_cast<unsigned>(fds[end - 1]), 0) ==
                   0);
    first = end;
  }
}

}  // namespace hb::bench
