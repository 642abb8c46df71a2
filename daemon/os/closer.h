// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Threads that close what the loop must not: the last close of GPU memory takes tens of milliseconds, and
// close of a hostile descriptor, or of a socket with one unread inside it, takes as long as its maker likes.
//
// Memory lane: one thread, in order, for descriptors known to be memfds or dma-bufs. Quarantine lane: for all
// else, up to limits::kQuarantineThreads threads, of which one payer occupies
// limits::kQuarantineThreadsPerUid at most. A payer is a number of the caller's: one for each who is to have
// a share of his own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "wire/unique_fd.h"

namespace hb::os {

class Closer {
 public:
  // Runs on a closer thread after the close, never after stop() has returned.
  using Done = std::function<void()>;

  Closer();   // starts one thread of each lane; std::system_error where the process may have none
  ~Closer();  // stop()
  Closer(const Closer&) = delete;
  Closer& operator=(const Closer&) = delete;

  void close_memory(std::vector<UniqueFd> fds, Done done);
  // A refused descriptor: counted against limits::kQuarantinePerUid of who sent it.
  void quarantine(std::uint64_t payer, UniqueFd fd, Done done);
  // A session's socket: the same lane, not counted, the session limits bound it.
  void close_socket(std::uint64_t payer, UniqueFd socket, Done done);

  // Work that may close descriptors of this payer on the way: the same lane, not counted. `work` runs on a
  // closer thread, also after stop().
  void run(std::uint64_t payer, std::function<void()> work, Done done);

  // The payer has so many sockets waiting for their close that it is not one thread's turn that they wait
  // for.
  [[nodiscard]] bool crowded(std::uint64_t payer) const;
  // The payer has so many refused descriptors waiting that no more may be received from it.
  [[nodiscard]] bool quarantine_full(std::uint64_t payer) const;
  [[nodiscard]] std::size_t closing() const;      // descriptors on the memory lane
  [[nodiscard]] std::size_t quarantined() const;  // refused descriptors on the quarantine lane

  // No callback runs any more. Does not wait for threads: one may be inside a close that never returns.
  void stop();

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace hb::os
