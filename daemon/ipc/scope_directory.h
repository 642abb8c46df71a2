// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Directories that are mounted into containers: BASE/scopes/NAME with one socket in it. The directory stays
// the same one while daemons come and go, or what was mounted would lead to nobody.
#pragma once

#include <sys/types.h>

#include <string>

#include "wire/expected.h"
#include "wire/unique_fd.h"

namespace hb::ipc {

// Why `name` is no scope's name, as a sentence; empty when it is one.
[[nodiscard]] std::string fault_of_scope_name(const std::string& name);

struct ScopeSocket {
  UniqueFd socket;  // listening, non-blocking
  dev_t device = 0;
  ino_t inode = 0;
};

class ScopeDirectories {
 public:
  // `base`: the directory of the daemon's socket. Nothing is made before the first scope.
  explicit ScopeDirectories(std::string base) : base_(std::move(base)) {}

  [[nodiscard]] std::string path_of(const std::string& name) const { return base_ + "/scopes/" + name; }

  // Makes what is not there and puts a new socket in the place of a dead daemon's, at once: a client finds
  // one or the other. What is not the daemon's own is left as it is and refused, in words.
  [[nodiscard]] tl::expected<ScopeSocket, std::string> serve(const std::string& name) const;

  // `listening` was made by serve() in a daemon before this one, and the socket is still where it was.
  [[nodiscard]] tl::expected<ScopeSocket, std::string> adopt(const std::string& name, UniqueFd listening) const;

  // At the daemon's end: the socket goes, the directory stays.
  void leave(const std::string& name, const ScopeSocket& socket) const;

  // The socket goes, where it still is ours, and the directory, where nothing else is in it.
  [[nodiscard]] tl::expected<void, std::string> remove(const std::string& name,
                                                       const ScopeSocket& socket) const;

 private:
  std::string base_;
};

}  // namespace hb::ipc
