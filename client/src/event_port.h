// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// The descriptor that a program polls for events: an epoll instance over the doorbell of the session, which
// changes with the session, and a timer, by which this side makes it readable by itself. Its number stays.
//
// What never happens: a forked child keeps one of them, or touches what the parent polls.
#pragma once

#include <cstdint>
#include <memory>

#include "error.h"
#include "fork_guard.h"
#include "wire/unique_fd.h"

namespace hb::client {

class EventPort {
 public:
  [[nodiscard]] static Result<std::unique_ptr<EventPort>> make(ProcessMark mark);
  EventPort(UniqueFd poll, UniqueFd timer, ProcessMark mark);
  ~EventPort();
  EventPort(const EventPort&) = delete;
  EventPort& operator=(const EventPort&) = delete;

  // For poll, epoll and select alone.
  [[nodiscard]] int fd() const noexcept { return poll_.get(); }

  // In the place of the one before.
  [[nodiscard]] Result<void> hang(UniqueFd doorbell);
  void unhang() noexcept;

  enum class Heard : std::uint8_t { kNothing, kRing, kEnd };
  // One non-blocking read.
  [[nodiscard]] Heard listen() noexcept;

  // Readable from that time on (0: at once), until set again. Async-signal-safe.
  void wake_at(std::uint64_t time_ns) noexcept;
  void wake_never() noexcept;

  // Until it is readable.
  void wait() noexcept;

 private:
  void set_timer(std::uint64_t seconds, std::uint64_t nanoseconds) noexcept;

  const ProcessMark mark_;
  GuardedSocket poll_;
  GuardedSocket timer_;
  std::unique_ptr<GuardedSocket> doorbell_;
};

}  // namespace hb::client
