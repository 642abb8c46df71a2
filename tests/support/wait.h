// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Waiting in tests: for a condition that can be observed, with a watchdog that is generous. The watchdog is
// no assertion about speed; it turns a hang into a failure.
#pragma once

#include <poll.h>
#include <time.h>

#include <algorithm>
#include <cstdint>

namespace hb::test {

inline constexpr std::uint64_t kWatchdogNs = 20'000'000'000;

inline std::uint64_t now_ns() {
  timespec t{};
  ::clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000u + static_cast<std::uint64_t>(t.tv_nsec);
}

// True as soon as `condition()` holds; false when it still does not after `limit_ns`. For states that have no
// descriptor to poll: /proc of another process, the book-keeping of the daemon.
template <class Condition>
[[nodiscard]] bool poll_until(Condition&& condition, std::uint64_t limit_ns = kWatchdogNs) {
  const std::uint64_t deadline = now_ns() + limit_ns;  // limits stay below 2^63
  for (;;) {
    if (condition()) return true;
    if (now_ns() >= deadline) return condition();
    ::poll(nullptr, 0, 1);
  }
}

// True when `fd` is readable or at its end before the limit.
[[nodiscard]] inline bool wait_readable(int fd, std::uint64_t limit_ns = kWatchdogNs) {
  const std::uint64_t deadline = now_ns() + limit_ns;  // limits stay below 2^63
  for (;;) {
    const std::uint64_t now = now_ns();
    const std::uint64_t left_ms = now >= deadline ? 0 : (deadline - now) / 1'000'000 + 1;
    const int left = static_cast<int>(std::min<std::uint64_t>(left_ms, 1'000'000'000));
    pollfd p{fd, POLLIN, 0};
    const int n = ::poll(&p, 1, left);
    if (n > 0) return true;
    if (n == 0 && left == 0) return false;
  }
}

}  // namespace hb::test
