// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// A socket at a path: made safely, never over a living daemon, removed only while it is ours.
#pragma once

#include <sys/types.h>

#include <string>

#include "wire/expected.h"
#include "wire/unique_fd.h"

namespace hb::ipc {

struct SocketPlace {
  std::string path;                // absolute
  mode_t mode = 0666;              // of the socket file
  mode_t directory = 0755;         // of the directory, where it has to be made
  bool private_directory = false;  // refuse a directory that group or others can enter
};

struct BoundSocket {
  UniqueFd socket;  // listening, non-blocking
  UniqueFd lock;    // held as long as the daemon lives
  std::string path;
  dev_t device = 0;  // of the socket file
  ino_t inode = 0;
};

struct BindFailure {
  bool another_daemon = false;  // one lives at the path
  std::string message;
};

// A socket file whose daemon is dead is replaced; anything else at the path is left as it is and refused.
[[nodiscard]] tl::expected<BoundSocket, BindFailure> bind_socket(const SocketPlace& place);

// Removes the socket file, if it still is the one we made, and the lock file; then closes both.
void unbind_socket(BoundSocket& bound);

}  // namespace hb::ipc
