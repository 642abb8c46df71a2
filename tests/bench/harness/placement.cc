// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "bench/harness/placement.h"

#include <sched.h>

#include <vector>

#include "bench/harness/check.h"

namespace hb::bench {
namespace {

cpu_set_t initial_affinity() {
  cpu_set_t set;
  CPU_ZERO(&set);
  HB_BENCH_CHECK(::sched_getaffinity(0, sizeof set, &set) == 0);
  return set;
}

// Read before anything is pinned: a container may give us CPUs that do not start at 0.
const cpu_set_t kAllowed = initial_affinity();

std::vector<int> allowed_cpus() {
  std::vector<int> cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &kAllowed)) cpus.push_back(cpu);
  }
  return cpus;
}

}  // namespace

const char* placement_name(Placement placement) { return placement == Placement::kSame ? "same" : "split"; }

std::optional<Placement> parse_placement(std::string_view text) {
  if (text == "same") return Placement::kSame;
  if (text == "split") return Placement::kSplit;
  return std::nullopt;
}

int client_cpu(Placement) { return allowed_cpus().front(); }

int server_cpu(Placement placement) {
  const std::vector<int> cpus = allowed_cpus();
  if (placement == Placement::kSame) return cpus.front();
  HB_BENCH_CHECK(cpus.size() > 1);
  return cpus[1];
}

bool placement_available(Placement placement) {
  return placement == Placement::kSame || allowed_cpus().size() > 1;
}

void pin_to_cpu(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  HB_BENCH_CHECK(::sched_setaffinity(0, sizeof set, &set) == 0);
}

void unpin() { HB_BENCH_CHECK(::sched_setaffinity(0, sizeof kAllowed, &kAllowed) == 0); }

}  // namespace hb::bench
