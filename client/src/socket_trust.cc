// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "socket_trust.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <deque>

namespace hb::client {
namespace {

constexpr int kMaxLinks = 40;  // as the kernel's own bound
constexpr std::size_t kMaxVisits = 512;

std::string describe(const PathVisit& visit) {
  char mode[16];
  std::snprintf(mode, sizeof mode, "%04o", visit.mode & 07777u);
  return "\"" + visit.path + "\" (owner uid " + std::to_string(visit.owner) + ", mode " + mode + ")";
}

Error untrusted(const PathVisit& visit, const std::string& reason) {
  Error error;
  error.status = HB_UNTRUSTED;
  error.what = visit.path;
  error.who = "uid " + std::to_string(visit.owner);
  error.message = describe(visit) + " " + reason + "; nothing was sent to the socket behind it";
  return error;
}

bool others_can_write(const PathVisit& visit) { return (visit.mode & (S_IWGRP | S_IWOTH)) != 0; }

// The walk. Holds every directory it stands in, so that ".." needs no trust in names.
class Walk {
 public:
  Result<void> run(const std::string& path) {
    if (auto root = push_root(); !root) return root;
    prepend(path);
    while (!parts_.empty()) {
      const std::string part = std::move(parts_.front());
      parts_.pop_front();
      if (part == ".") continue;
      if (auto step = part == ".." ? up() : down(part); !step) return step;
    }
    return {};
  }

  std::vector<PathVisit> visits;
  [[nodiscard]] UniqueFd take_last() { return std::move(at_.back().fd); }

 private:
  struct Place {
    UniqueFd fd;
    std::size_t visit;
    std::uint64_t mount;
  };

  void prepend(const std::string& path) {
    std::vector<std::string> parts;
    for (std::size_t i = 0; i < path.size();) {
      const std::size_t end = std::min(path.find('/', i), path.size());
      if (end > i) parts.push_back(path.substr(i, end - i));
      i = end + 1;
    }
    parts_.insert(parts_.begin(), parts.begin(), parts.end());
  }

  Result<void> push_root() {
    UniqueFd root(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!root) return fail(system_error(SysError::last("open"), "\"/\""));
    at_.clear();
    return enter(std::move(root), "/", visits.size());
  }

  // A directory above one already walked through: it was judged on the way down, but it now stands after
  // whatever came between, so it is noted again.
  Result<void> up() {
    if (at_.size() == 1) return {};
    at_.pop_back();
    return note(visits[at_.back().visit]);
  }

  Result<void> note(PathVisit visit) {
    if (visits.size() >= kMaxVisits)
      return fail(HB_INVALID, "the path of the socket has more than " + std::to_string(kMaxVisits) +
                                  " components, symbolic links included");
    visits.push_back(std::move(visit));
    return {};
  }

  Result<void> enter(UniqueFd fd, std::string path, std::size_t parent) {
    struct statx st {};
    if (::statx(fd.get(), "", AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT,
                STATX_BASIC_STATS | STATX_MNT_ID, &st) != 0)
      return fail(system_error(SysError::last("statx"), "\"" + path + "\""));
    PathVisit visit;
    visit.path = std::move(path);
    visit.owner = st.stx_uid;
    visit.mode = st.stx_mode;
    visit.parent = parent;
    visit.same_as = visits.size();
    // A kernel without STATX_ATTR_MOUNT_ROOT may still tell the mount's number.
    bool mount_point = at_.empty();
    if ((st.stx_attributes_mask & STATX_ATTR_MOUNT_ROOT) != 0)
      mount_point = mount_point || (st.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
    else if ((st.stx_mask & STATX_MNT_ID) != 0 && !at_.empty())
      mount_point = at_.back().mount != st.stx_mnt_id;
    if (mount_point && !S_ISLNK(st.stx_mode)) {
      const std::string by_fd = "/proc/self/fd/" + std::to_string(fd.get());
      visit.fixed_mount_point = ::faccessat(AT_FDCWD, by_fd.c_str(), W_OK, AT_EACCESS) != 0;
    }
    const std::size_t index = visits.size();
    if (auto noted = note(std::move(visit)); !noted) return noted;
    at_.push_back({std::move(fd), index, st.stx_mnt_id});
    return {};
  }

  Result<void> down(const std::string& part) {
    const PathVisit& here = visits[at_.back().visit];
    const std::string path = (here.path == "/" ? "/" : here.path + "/") + part;
    UniqueFd next(::openat(at_.back().fd.get(), part.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
    if (!next) {
      const SysError cause = SysError::last("open");
      const hb_status status = cause.code == ENOENT || cause.code == ENOTDIR ? HB_NO_DAEMON
                               : cause.code == EACCES                        ? HB_DENIED
                                                                             : HB_SYSTEM;
      return fail(system_error(cause, "\"" + path + "\"", status));
    }
    if (auto entered = enter(std::move(next), path, at_.back().visit); !entered) return entered;
    if (!S_ISLNK(visits.back().mode)) return {};
    if (++links_ > kMaxLinks) return fail(HB_INVALID, "\"" + path + "\": more than 40 symbolic links");
    char target[PATH_MAX];
    const ssize_t n = ::readlinkat(at_.back().fd.get(), "", target, sizeof target);
    if (n <= 0) return fail(system_error(SysError::last("readlink"), "\"" + path + "\""));
    at_.pop_back();
    if (target[0] == '/') {
      if (auto root = push_root(); !root) return root;
    }
    prepend(std::string(target, static_cast<std::size_t>(n)));
    return {};
  }

  std::deque<std::string> parts_;
  std::vector<Place> at_;
  int links_ = 0;
};

}  // namespace

Result<std::optional<std::uint32_t>> judge_path(const std::vector<PathVisit>& visits,
                                                const TrustContext& context) {
  // The overflow uid is root's at or above a mount point that the caller cannot write: only root can have
  // mounted there. Anywhere else it may be anyone.
  std::vector<bool> root_shown(visits.size(), false);
  if (context.hidden_root) {
    for (std::size_t i = 0; i < visits.size(); ++i) {
      if (!visits[i].fixed_mount_point) continue;
      for (std::size_t j = i;; j = visits[j].parent) {
        root_shown[j] = true;
        if (visits[j].parent == j) break;
      }
    }
  }
  const auto is_own = [&](std::size_t i) {
    const std::uint32_t owner = visits[i].owner;
    return owner == 0 || (owner == context.uid && !context.tells_nobody(owner)) ||
           (context.hidden_root == owner && root_shown[visits[i].same_as]);
  };
  std::optional<std::uint32_t> delegate;
  for (std::size_t i = 0; i < visits.size(); ++i) {
    const PathVisit& visit = visits[i];
    const bool is_directory = S_ISDIR(visit.mode);
    if (delegate) {
      if (visit.owner != *delegate)
        return fail(untrusted(
            visit, "lies below a directory of uid " + std::to_string(*delegate) + " and is not that uid's"));
      if (is_directory && others_can_write(visit)) return fail(untrusted(visit, "can be written by others"));
      continue;
    }
    if (visit.parent != i) {
      const PathVisit& parent = visits[visit.parent];
      if (others_can_write(parent)) {
        if ((parent.mode & S_ISVTX) == 0)
          return fail(untrusted(parent, "can be written by others and is not sticky: anyone may replace \"" +
                                            visit.path + "\""));
        if (!is_own(i))
          return fail(untrusted(visit,
                                "lies in a directory that others can write, and is neither root's nor "
                                "your own"));
      }
    } else if (!is_own(i)) {
      return fail(untrusted(visit, "is not root's"));
    }
    if (is_own(i)) continue;
    delegate = visit.owner;
    if (is_directory && others_can_write(visit)) return fail(untrusted(visit, "can be written by others"));
  }
  return delegate;
}

Result<TrustedSocket> open_trusted_socket(const std::string& path, const TrustContext& context) {
  std::string absolute = path;
  if (path.empty() || path[0] != '/') {
    char here[PATH_MAX];
    if (::getcwd(here, sizeof here) == nullptr)
      return fail(system_error(SysError::last("getcwd"), "\"" + path + "\""));
    absolute = std::string(here) + "/" + path;
  }
  Walk walk;
  if (auto walked = walk.run(absolute); !walked) return tl::unexpected(walked.error());
  auto delegate = judge_path(walk.visits, context);
  if (!delegate) return tl::unexpected(delegate.error());
  const PathVisit& last = walk.visits.back();
  if (!S_ISSOCK(last.mode)) return fail(HB_INVALID, describe(last) + " is not a socket");
  return TrustedSocket{walk.take_last(), *delegate};
}

Result<void> check_peer(int socket, const std::string& path, const TrustContext& context,
                        std::optional<std::uint32_t> delegate, std::span<const std::uint32_t> trusted_uids) {
  ucred peer{};
  socklen_t size = sizeof peer;
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0)
    return fail(system_error(SysError::last("getsockopt"), "SO_PEERCRED of \"" + path + "\""));
  if (peer.uid == 0 || delegate == peer.uid) return {};
  const bool named = std::find(trusted_uids.begin(), trusted_uids.end(), peer.uid) != trusted_uids.end();
  if (!context.tells_nobody(peer.uid) && (peer.uid == context.uid || named)) return {};
  Error error;
  error.status = HB_UNTRUSTED;
  error.what = path;
  error.who = "uid " + std::to_string(peer.uid);
  error.operation = "SO_PEERCRED";
  error.message = "\"" + path + "\" is served by uid " + std::to_string(peer.uid) +
                  ", who is neither root, nor uid " + std::to_string(context.uid) +
                  " (yourself), nor the owner of the path; " +
                  (context.tells_nobody(peer.uid)
                       ? "in this user namespace that uid stands for all that have no number here. "
                       : "name that uid in trusted_uids if it is meant. ") +
                  "Nothing was sent";
  return fail(std::move(error));
}

}  // namespace hb::client
