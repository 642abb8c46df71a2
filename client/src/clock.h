// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#pragma once

#include <time.h>

#include <chrono>
#include <cstdint>

namespace hb::client {

inline constexpr std::uint64_t kNoDeadline = UINT64_MAX;

[[nodiscard]] inline std::uint64_t now_ns() noexcept {
  timespec t{};
  ::clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000u + static_cast<std::uint64_t>(t.tv_nsec);
}

[[nodiscard]] inline std::uint64_t after_ns(std::uint64_t ns) noexcept {
  const std::uint64_t now = now_ns();
  return ns >= kNoDeadline - now ? kNoDeadline : now + ns;
}

// For condition variables. "Never" becomes a century: the clock of libstdc++ is CLOCK_MONOTONIC in signed
// nanoseconds, and adding to its maximum overflows.
[[nodiscard]] inline std::chrono::steady_clock::time_point time_point(std::uint64_t deadline_ns) noexcept {
  constexpr std::uint64_t kFar = 3'155'760'000ull * 1'000'000'000ull;
  return std::chrono::steady_clock::time_point(
      std::chrono::nanoseconds(static_cast<std::int64_t>(deadline_ns < kFar ? deadline_ns : kFar)));
}

}  // namespace hb::client
