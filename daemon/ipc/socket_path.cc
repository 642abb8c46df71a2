// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "ipc/socket_path.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <utility>

#include "wire/name.h"
#include "wire/sys_error.h"

namespace hb::ipc {
namespace {

constexpr int kBacklog = 4096;  // the kernel caps it at net.core.somaxconn

tl::unexpected<BindFailure> fail(std::string message) {
  return tl::unexpected(BindFailure{false, std::move(message)});
}

std::string shown(const std::string& path) { return "\"" + escape_for_display(path) + "\""; }

std::string octal(mode_t mode) {
  char text[16];
  std::snprintf(text, sizeof text, "0%03o", static_cast<unsigned>(mode & 07777));
  return text;
}

std::string parent_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == 0 ? "/" : path.substr(0, slash);
}

// mkdir -p; 0755 above, `mode` for the last one.
std::optional<std::string> make_directories(const std::string& directory, mode_t mode) {
  for (std::size_t end = directory.find('/', 1);; end = directory.find('/', end + 1)) {
    const std::string part = directory.substr(0, end);
    const bool last = end == std::string::npos;
    if (::mkdir(part.c_str(), last ? mode : 0755) != 0 && errno != EEXIST) {
      return shown(part) + ": " + SysError::last("mkdir").text();
    }
    if (last) return std::nullopt;
  }
}

// Whoever can write a directory on the way can put a socket of their own in the place of ours.
std::optional<std::string> check_directories(const std::string& directory, bool private_directory) {
  char* resolved = ::realpath(directory.c_str(), nullptr);
  if (resolved == nullptr) return shown(directory) + ": " + SysError::last("realpath").text();
  const std::string real = resolved;
  std::free(resolved);
  for (std::size_t end = 1;; end = real.find('/', end + 1)) {
    const std::string part = end == 1 && real.size() > 1 ? "/" : real.substr(0, end);
    struct stat status {};
    if (::stat(part.c_str(), &status) != 0) return shown(part) + ": " + SysError::last("stat").text();
    const std::string owner =
        " (owner uid " + std::to_string(status.st_uid) + ", mode " + octal(status.st_mode) + ")";
    if (!S_ISDIR(status.st_mode)) return shown(part) + " is not a directory";
    if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0 && (status.st_mode & S_ISVTX) == 0) {
      return "directory " + shown(part) + owner +
             " is writable by group or others without the sticky bit: they could replace the socket; chmod "
             "go-w it "
             "or choose another --socket";
    }
    const bool last = part.size() == real.size();
    if (last && private_directory && status.st_uid != ::geteuid()) {
      return "directory " + shown(part) + owner + " of the admin socket must belong to uid " +
             std::to_string(::geteuid()) + ": its owner could replace the socket";
    }
    if (last && private_directory && (status.st_mode & 077) != 0) {
      return "directory " + shown(part) + owner +
             " of the admin socket must be closed to group and others: chmod 0700";
    }
    if (last) return std::nullopt;
  }
}

// Killed, but one of its threads is inside a close that does not return: lock and socket stay open as long,
// and no one answers on them.
bool cannot_end(const std::string& pid) {
  if (pid.empty()) return false;
  const UniqueFd file(::open(("/proc/" + pid + "/stat").c_str(), O_RDONLY | O_CLOEXEC));
  std::array<char, 256> text{};
  if (!file || ::read(file.get(), text.data(), text.size() - 1) <= 0) return false;
  const char* name_end = std::strrchr(text.data(), ')');
  return name_end != nullptr && name_end[1] == ' ' && name_end[2] == 'Z';
}

// The lock file closes the race of two daemons that both find a stale socket. It names its holder's pid.
struct LockHeld {
  std::string pid;
};
tl::expected<UniqueFd, tl::expected<LockHeld, std::string>> take_lock(const std::string& path) {
  using Failure = tl::expected<LockHeld, std::string>;
  const auto broken = [&path](const char* call) {
    return tl::unexpected(Failure(tl::unexpected(shown(path) + ": " + SysError::last(call).text())));
  };
  for (;;) {
    UniqueFd lock(::open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0600));
    if (!lock) return broken("open");
    struct stat mine {};
    if (::fstat(lock.get(), &mine) != 0) return broken("fstat");
    if (!S_ISREG(mine.st_mode) || mine.st_uid != ::geteuid()) {
      return tl::unexpected(Failure(tl::unexpected("lock file " + shown(path) + " is owned by uid " +
                                                   std::to_string(mine.st_uid) + ", expected a file of uid " +
                                                   std::to_string(::geteuid()) + "; remove it")));
    }
    if (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
      if (errno != EWOULDBLOCK) return broken("flock");
      char pid[16] = {};
      const ssize_t bytes = ::pread(lock.get(), pid, sizeof pid - 1, 0);
      struct stat there {};
      if (cannot_end(pid) && ::lstat(path.c_str(), &there) == 0 && there.st_ino == mine.st_ino &&
          there.st_dev == mine.st_dev && ::unlink(path.c_str()) == 0) {
        continue;
      }
      return tl::unexpected(
          Failure(LockHeld{std::string(pid, bytes > 0 ? static_cast<std::size_t>(bytes) : 0)}));
    }
    // The holder before us may have removed the file between our open and our lock.
    struct stat current {};
    if (::lstat(path.c_str(), &current) != 0 || current.st_ino != mine.st_ino ||
        current.st_dev != mine.st_dev) {
      continue;
    }
    const std::string pid = std::to_string(::getpid());
    if (::ftruncate(lock.get(), 0) != 0 ||
        ::pwrite(lock.get(), pid.data(), pid.size(), 0) != static_cast<ssize_t>(pid.size())) {
      return broken("write");
    }
    return lock;
  }
}

BindFailure alive(const std::string& path, const std::string& pid) {
  if (pid == "1")
    return {true,
            "systemd holds " + shown(path) +
                " for a service: systemctl start hipbrokerd.service, or stop hipbrokerd.socket, "
                "hipbrokerd-admin.socket and hipbrokerd.service first; another --socket works beside it"};
  return {true, "another daemon" + (pid.empty() ? std::string() : " (pid " + pid + ")") + " serves " +
                    shown(path) + "; stop it, or choose another --socket"};
}

std::optional<BindFailure> remove_stale(const std::string& path) {
  if (::unlink(path.c_str()) == 0) return std::nullopt;
  return BindFailure{false, "the stale socket " + shown(path) + ": " + SysError::last("unlink").text()};
}

// What is at the path now: nothing, or a dead daemon's socket that has been removed, or the reason to stop.
std::optional<BindFailure> clear_path(const sockaddr_un& address, const std::string& path) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0) {
    if (errno == ENOENT) return std::nullopt;
    return BindFailure{false, shown(path) + ": " + SysError::last("lstat").text()};
  }
  if (!S_ISSOCK(status.st_mode)) {
    const char* what = S_ISDIR(status.st_mode)   ? "a directory"
                       : S_ISLNK(status.st_mode) ? "a symbolic link"
                                                 : "a file";
    return BindFailure{false, shown(path) + " is " + what +
                                  ", not a socket; it was left as it is: move it away, or "
                                  "choose another --socket"};
  }
  const UniqueFd probe(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!probe) return BindFailure{false, SysError::last("socket").text()};
  if (::connect(probe.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) {
    ucred peer{};
    socklen_t bytes = sizeof peer;
    const bool known = ::getsockopt(probe.get(), SOL_SOCKET, SO_PEERCRED, &peer, &bytes) == 0 && peer.pid > 0;
    const std::string pid = known ? std::to_string(peer.pid) : "";
    return cannot_end(pid) ? remove_stale(path) : alive(path, pid);
  }
  const SysError error = SysError::last("connect");
  if (error.code == EAGAIN) return alive(path, "");  // its backlog is full
  if (error.code == EPROTOTYPE) {
    return BindFailure{
        true, shown(path) + " is served by a program of another socket type; choose another --socket"};
  }
  if (error.code != ECONNREFUSED) {
    return BindFailure{false, shown(path) + ": whether a daemon lives there cannot be told: " + error.text()};
  }
  return remove_stale(path);
}

}  // namespace

tl::expected<BoundSocket, BindFailure> bind_socket(const SocketPlace& place) {
  const std::string& path = place.path;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (!path.starts_with('/') || path.ends_with('/'))
    return fail("socket path " + shown(path) + " is not absolute");
  if (path.size() >= sizeof address.sun_path) {
    return fail("socket path " + shown(path) + " has " + std::to_string(path.size()) +
                " bytes, the kernel's limit is " + std::to_string(sizeof address.sun_path - 1));
  }
  path.copy(address.sun_path, path.size());
  const std::string directory = parent_of(path);
  if (auto error = make_directories(directory, place.directory)) return fail(std::move(*error));
  if (auto error = check_directories(directory, place.private_directory)) return fail(std::move(*error));

  BoundSocket bound;
  bound.path = path;
  auto lock = take_lock(path + ".lock");
  if (!lock) {
    if (lock.error()) return tl::unexpected(alive(path, lock.error()->pid));
    return fail(std::move(lock.error().error()));
  }
  bound.lock = std::move(*lock);
  if (auto failure = clear_path(address, path)) {
    // The lock file was made, or found unlocked, by us alone.
    ::unlink((path + ".lock").c_str());
    return tl::unexpected(std::move(*failure));
  }
  bound.socket = UniqueFd(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!bound.socket) return fail(SysError::last("socket").text());
  if (::bind(bound.socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return fail(shown(path) + ": " + SysError::last("bind").text());
  }
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0) return fail(shown(path) + ": " + SysError::last("lstat").text());
  bound.device = status.st_dev;
  bound.inode = status.st_ino;
  if (::chmod(path.c_str(), place.mode) != 0) {
    const std::string error = shown(path) + ": " + SysError::last("chmod").text();
    unbind_socket(bound);
    return fail(error);
  }
  if (::listen(bound.socket.get(), kBacklog) != 0) {
    const std::string error = shown(path) + ": " + SysError::last("listen").text();
    unbind_socket(bound);
    return fail(error);
  }
  return bound;
}

void unbind_socket(BoundSocket& bound) {
  struct stat status {};
  if (bound.inode != 0 && ::lstat(bound.path.c_str(), &status) == 0 && status.st_dev == bound.device &&
      status.st_ino == bound.inode) {
    ::unlink(bound.path.c_str());
  }
  if (bound.lock) ::unlink((bound.path + ".lock").c_str());
  bound.socket.reset();
  bound.lock.reset();
}

}  // namespace hb::ipc
