// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#pragma once

#include <sys/types.h>

#include <cstdint>

namespace hb::bench {

// CLOCK_MONOTONIC.
[[nodiscard]] std::uint64_t now_ns();

// CPU time a process has used, all threads. Dies when the process is gone: a figure of 0 would look good.
[[nodiscard]] std::uint64_t process_cpu_ns(pid_t process);

}  // namespace hb::bench
