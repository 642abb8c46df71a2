// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "ipc/scope_directory.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "ipc/scope.h"
#include "wire/limits.h"
#include "wire/name.h"
#include "wire/sys_error.h"

namespace hb::ipc {
namespace {

constexpr int kBacklog = 4096;  // the kernel caps it at net.core.somaxconn
constexpr mode_t kDirectoryMode = 0755;
constexpr mode_t kSocketMode = 0666;
constexpr const char* kSocket = "broker.sock";
constexpr const char* kNewSocket = ".broker.sock.new";

std::string shown(const std::string& path) { return "\"" + escape_for_display(path) + "\""; }

tl::unexpected<std::string> fail(const std::string& path, const char* call) {
  return tl::unexpected(shown(path) + ": " + SysError::last(call).text());
}

std::string owner_and_mode(const struct stat& status) {
  char mode[16];
  std::snprintf(mode, sizeof mode, "0%03o", static_cast<unsigned>(status.st_mode & 07777));
  return " (owner uid " + std::to_string(status.st_uid) + ", mode " + mode + ")";
}

// bind() and connect() have no form that starts at a directory's descriptor.
sockaddr_un address_in(const UniqueFd& directory, const char* name) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::snprintf(address.sun_path, sizeof address.sun_path, "/proc/self/fd/%d/%s", directory.get(), name);
  return address;
}

// One that is there, or made now: ours, and nobody else's to write.
tl::expected<UniqueFd, std::string> own_directory(const UniqueFd& parent, const std::string& name,
                                                  const std::string& path) {
  if (::mkdirat(parent.get(), name.c_str(), kDirectoryMode) != 0 && errno != EEXIST) {
    const SysError error = SysError::last("mkdir");
    return tl::unexpected(shown(path) + ": " + error.text() +
                          (error.code == EACCES ? "; the directory above it must be the daemon's user's, as "
                                                  "tmpfiles.d/hipbroker.conf makes it"
                                                : ""));
  }
  UniqueFd directory(::openat(parent.get(), name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!directory) {
    if (errno != ENOTDIR && errno != ELOOP) return fail(path, "open");
    return tl::unexpected(
        shown(path) + " is a symbolic link or a file, not a directory; it was left as it is: move it away");
  }
  struct stat status {};
  if (::fstat(directory.get(), &status) != 0) return fail(path, "fstat");
  if (status.st_uid != ::geteuid() || (status.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    return tl::unexpected("directory " + shown(path) + owner_and_mode(status) + " must belong to uid " +
                          std::to_string(::geteuid()) +
                          " and be closed to the writes of all others: whoever can write it can take the "
                          "daemon's place; remove it, the daemon makes it anew");
  }
  if ((status.st_mode & 07777) != kDirectoryMode && ::fchmod(directory.get(), kDirectoryMode) != 0)
    return fail(path, "chmod");
  return directory;
}

tl::expected<UniqueFd, std::string> open_existing(const UniqueFd& parent, const char* name,
                                                  const std::string& path) {
  UniqueFd directory(::openat(parent.get(), name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!directory) return fail(path, "open");
  return directory;
}

tl::expected<UniqueFd, std::string> open_base(const std::string& base) {
  UniqueFd directory(::open(base.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!directory) return fail(base, "open");
  return directory;
}

// What stands where the socket goes: nothing, or a dead daemon's.
tl::expected<void, std::string> check_place(const UniqueFd& directory, const std::string& path) {
  struct stat status {};
  if (::fstatat(directory.get(), kSocket, &status, AT_SYMLINK_NOFOLLOW) != 0) {
    if (errno == ENOENT) return {};
    return fail(path, "lstat");
  }
  if (!S_ISSOCK(status.st_mode) || status.st_uid != ::geteuid()) {
    return tl::unexpected(shown(path) + owner_and_mode(status) + " is not a socket of uid " +
                          std::to_string(::geteuid()) + "; it was left as it is: move it away");
  }
  const UniqueFd probe(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!probe) return tl::unexpected(SysError::last("socket").text());
  const sockaddr_un address = address_in(directory, kSocket);
  const bool connected =
      ::connect(probe.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  if (!connected && errno == ECONNREFUSED) return {};
  if (!connected && errno != EAGAIN) return fail(path, "connect");
  return tl::unexpected("another daemon serves " + shown(path) + "; stop it, or choose another --socket");
}

bool is_ours(const UniqueFd& directory, const ScopeSocket& socket) {
  struct stat status {};
  return ::fstatat(directory.get(), kSocket, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
         status.st_dev == socket.device && status.st_ino == socket.inode;
}

tl::expected<ScopeSocket, std::string> bind_in(const UniqueFd& directory, const std::string& path) {
  ScopeSocket out;
  out.socket = UniqueFd(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!out.socket) return tl::unexpected(SysError::last("socket").text());
  // Of a daemon that was killed between the lines below.
  if (::unlinkat(directory.get(), kNewSocket, 0) != 0 && errno != ENOENT) return fail(path, "unlink");
  const sockaddr_un address = address_in(directory, kNewSocket);
  if (::bind(out.socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    return fail(path, "bind");
  const auto undo = [&](const char* call) {
    const SysError error = SysError::last(call);
    ::unlinkat(directory.get(), kNewSocket, 0);
    return tl::unexpected(shown(path) + ": " + error.text());
  };
  struct stat status {};
  if (::fstatat(directory.get(), kNewSocket, &status, AT_SYMLINK_NOFOLLOW) != 0) return undo("lstat");
  out.device = status.st_dev;
  out.inode = status.st_ino;
  if (::fchmodat(directory.get(), kNewSocket, kSocketMode, 0) != 0) return undo("chmod");
  if (::listen(out.socket.get(), kBacklog) != 0) return undo("listen");
  if (::renameat(directory.get(), kNewSocket, directory.get(), kSocket) != 0) return undo("rename");
  return out;
}

}  // namespace

std::string fault_of_scope_name(const std::string& name) {
  const std::string quoted = shown(name);
  if (name.empty()) return "a scope needs a name";
  if (name.size() > limits::kScopeNameBytes) {
    return "scope name " + quoted + " has " + std::to_string(name.size()) + " bytes, the limit is " +
           std::to_string(limits::kScopeNameBytes);
  }
  const bool plain = std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';
  });
  if (!plain || name.front() == '.') {
    return "scope name " + quoted +
           " is not one: it is a directory's name of a-z, 0-9, '.', '_' and '-' that does not begin with '.'";
  }
  if (name == policy::kMainScope || name == kAdminScope)
    return "scope name " + quoted + " is the daemon's own; choose another";
  return {};
}

tl::expected<ScopeSocket, std::string> ScopeDirectories::serve(const std::string& name) const {
  const auto base = open_base(base_);
  if (!base) return tl::unexpected(base.error());
  const auto scopes = own_directory(*base, "scopes", base_ + "/scopes");
  if (!scopes) return tl::unexpected(scopes.error());
  const auto directory = own_directory(*scopes, name, path_of(name));
  if (!directory) return tl::unexpected(directory.error());
  const std::string path = path_of(name) + "/" + kSocket;
  if (auto checked = check_place(*directory, path); !checked)
    return tl::unexpected(std::move(checked.error()));
  return bind_in(*directory, path);
}

tl::expected<ScopeSocket, std::string> ScopeDirectories::adopt(const std::string& name,
                                                               UniqueFd listening) const {
  int listens = 0;
  socklen_t bytes = sizeof listens;
  if (::getsockopt(listening.get(), SOL_SOCKET, SO_ACCEPTCONN, &listens, &bytes) != 0 || listens == 0)
    return tl::unexpected(std::string("what was kept of it is no listening socket"));
  const auto base = open_base(base_);
  if (!base) return tl::unexpected(base.error());
  const std::string path = path_of(name);
  const auto directory = open_existing(*base, ("scopes/" + name).c_str(), path);
  if (!directory) return tl::unexpected(directory.error());
  struct stat status {};
  if (::fstatat(directory->get(), kSocket, &status, AT_SYMLINK_NOFOLLOW) != 0)
    return fail(path + "/" + kSocket, "lstat");
  if (!S_ISSOCK(status.st_mode) || status.st_uid != ::geteuid())
    return tl::unexpected(shown(path + "/" + kSocket) + owner_and_mode(status) +
                          " is not the daemon's socket");
  return ScopeSocket{std::move(listening), status.st_dev, status.st_ino};
}

void ScopeDirectories::leave(const std::string& name, const ScopeSocket& socket) const {
  const auto base = open_base(base_);
  const auto directory = base.and_then(
      [&](const UniqueFd& open) { return open_existing(open, ("scopes/" + name).c_str(), path_of(name)); });
  if (directory && is_ours(*directory, socket)) ::unlinkat(directory->get(), kSocket, 0);
}

tl::expected<void, std::string> ScopeDirectories::remove(const std::string& name,
                                                         const ScopeSocket& socket) const {
  const auto base = open_base(base_);
  if (!base) return tl::unexpected(base.error());
  const auto scopes = open_existing(*base, "scopes", base_ + "/scopes");
  if (!scopes) return tl::unexpected(scopes.error());
  const auto directory = open_existing(*scopes, name.c_str(), path_of(name));
  if (!directory) return tl::unexpected(directory.error());
  if (is_ours(*directory, socket)) ::unlinkat(directory->get(), kSocket, 0);
  if (::unlinkat(scopes->get(), name.c_str(), AT_REMOVEDIR) != 0) return fail(path_of(name), "rmdir");
  return {};
}

}  // namespace hb::ipc
