// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// How a session that subscribed learns that it has events to take: one byte in a socket whose other end the
// client has. Made of a socket pair and not of an eventfd, because its end says that the daemon has gone.
#pragma once

#include <utility>

#include "wire/expected.h"
#include "wire/sys_error.h"
#include "wire/unique_fd.h"

namespace hb::ipc {

class Doorbell {
 public:
  struct Made;
  [[nodiscard]] static tl::expected<Made, SysError> make();

  Doorbell() = default;  // none
  // The end that a daemon before this one had.
  [[nodiscard]] static Doorbell adopt(UniqueFd fd) { return Doorbell(std::move(fd)); }
  [[nodiscard]] BorrowedFd descriptor() const { return fd_; }
  explicit operator bool() const { return static_cast<bool>(fd_); }

  // At most one byte is unread at a time. False: the other end is closed or unusable, and so is this now.
  [[nodiscard]] bool ring();

 private:
  explicit Doorbell(UniqueFd fd) : fd_(std::move(fd)) {}
  UniqueFd fd_;
};

struct Doorbell::Made {
  Doorbell doorbell;
  UniqueFd heard;  // the client's end
};

}  // namespace hb::ipc
