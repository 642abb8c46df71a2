// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "bench/harness/machine.h"

#include <poll.h>
#include <sys/resource.h>
#include <sys/utsname.h>

#include <algorithm>
#include <fstream>

#include "bench/harness/check.h"

namespace hb::bench {

CpuTimes read_cpu_times() {
  std::ifstream file("/proc/stat");
  std::string label;
  double user = 0, nice = 0, system = 0, idle = 0, iowait = 0, irq = 0, softirq = 0, steal = 0;
  file >> label >> user >> nice >> system >> idle >> iowait >> irq >> softirq >> steal;
  HB_BENCH_CHECK(file && label == "cpu");
  return {.idle = idle + iowait,
          .steal = steal,
          .total = user + nice + system + idle + iowait + irq + softirq + steal};
}

bool machine_is_idle() {
  constexpr int kLookMs = 200;
  constexpr double kIdleShare = 0.9;
  const CpuTimes before = read_cpu_times();
  ::poll(nullptr, 0, kLookMs);
  const CpuTimes after = read_cpu_times();
  return (after.idle - before.idle) / std::max(1.0, after.total - before.total) >= kIdleShare;
}

std::string kernel_release() {
  utsname name{};
  HB_BENCH_CHECK(::uname(&name) == 0);
  return name.release;
}

void raise_descriptor_limit() {
  rlimit limit{};
  HB_BENCH_CHECK(::getrlimit(RLIMIT_NOFILE, &limit) == 0);
  limit.rlim_cur = limit.rlim_max;
  HB_BENCH_CHECK(::setrlimit(RLIMIT_NOFILE, &limit) == 0);
}

}  // namespace hb::bench
