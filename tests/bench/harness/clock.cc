// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "bench/harness/clock.h"

#include <time.h>

#include "bench/harness/check.h"

namespace hb::bench {
namespace {

std::uint64_t read_clock(clockid_t clock) {
  timespec time{};
  if (::clock_gettime(clock, &time) != 0) die("clock_gettime");
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000u + static_cast<std::uint64_t>(time.tv_nsec);
}

}  // namespace

std::uint64_t now_ns() { return read_clock(CLOCK_MONOTONIC); }

std::uint64_t process_cpu_ns(pid_t process) {
  clockid_t clock{};
  if (const int error = ::clock_getcpuclockid(process, &clock); error != 0) {
    errno = error;
    die("no CPU clock of process %d", static_cast<int>(process));
  }
  return read_clock(clock);
}

}  // namespace hb::bench
