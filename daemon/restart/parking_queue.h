// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// One socketpair in whose receive queue descriptors lie. Messages leave a queue only at its front, so what
// is in each is remembered. Nothing here blocks.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "restart/parked.h"
#include "wire/expected.h"
#include "wire/sys_error.h"
#include "wire/unique_fd.h"

namespace hb::restart {

class ParkingQueue {
 public:
  static constexpr std::size_t kMessageFds = 253;  // SCM_MAX_FD
  // The default send buffer has room for 278 small messages; beyond this many they are put together.
  static constexpr std::size_t kManyMessages = 200;
  using Message = std::vector<ParkedEntry>;

  // What reading a queue found besides what could be read.
  struct Trouble {
    std::size_t broken = 0;         // messages that are none of ours
    std::vector<ParkedEntry> lost;  // entries whose descriptors could not be taken (RLIMIT_NOFILE)
    std::string error;              // reading ended early, and why
  };

  [[nodiscard]] static tl::expected<ParkingQueue, SysError> make();
  // `sending` may be missing: then nothing can be put into the queue any more, and it can still be read.
  ParkingQueue(UniqueFd sending, UniqueFd holding);

  // Copies of all that is in the queue, which stays as it is.
  void read(std::vector<Restored>& out, Trouble& trouble);

  // One message of 1 to kMessageFds entries, at its end.
  [[nodiscard]] tl::expected<void, SysError> send(std::span<const ToPark> entries);
  // Takes the first message out and closes what is in it.
  [[nodiscard]] tl::expected<void, SysError> discard_first();

  [[nodiscard]] const std::deque<Message>& messages() const { return messages_; }
  [[nodiscard]] std::size_t entries() const { return entries_; }
  // Nothing is put into it any more.
  void stop_sending() { sending_.reset(); }
  [[nodiscard]] bool sends() const { return static_cast<bool>(sending_); }
  [[nodiscard]] BorrowedFd sending() const { return sending_; }
  [[nodiscard]] BorrowedFd holding() const { return holding_; }

 private:
  UniqueFd sending_;
  UniqueFd holding_;
  std::deque<Message> messages_;
  std::size_t entries_ = 0;
};

}  // namespace hb::restart
