// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#pragma once

#include <string>

namespace hb::bench {

// Of all CPUs since boot, in clock ticks.
struct CpuTimes {
  double idle = 0, steal = 0, total = 0;
};
[[nodiscard]] CpuTimes read_cpu_times();

// Looks for a fifth of a second. Our own helpers sleep between rounds, so work is somebody else's.
[[nodiscard]] bool machine_is_idle();

[[nodiscard]] std::string kernel_release();
// Soft RLIMIT_NOFILE up to the hard one: 512 connections have two ends.
void raise_descriptor_limit();

}  // namespace hb::bench
