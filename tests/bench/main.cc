// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// hb_bench: sets every case up, runs them all in interleaved rounds (A B C, A B C, ...), so that a slow spell
// of the machine hits a case and its floor alike, and reports ratios.
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "bench/harness/check.h"
#include "bench/harness/clock.h"
#include "bench/harness/machine.h"
#include "bench/options.h"
#include "bench/report.h"
#include "bench/selection.h"

namespace hb::bench {
namespace {

void run_round(CaseList& cases, double scale) {
  for (const auto& one : cases) {
    one->run(std::max(1, static_cast<int>(one->samples() * scale)));
    for (const auto& series : one->series()) series->end_round();
  }
}

// True when the machine was idle before the round began; gives up waiting once `budget` is spent.
bool wait_for_quiet(double& budget) {
  while (budget > 0) {
    const std::uint64_t start = now_ns();
    const bool idle = machine_is_idle();
    budget -= static_cast<double>(now_ns() - start) / 1e9;
    if (idle) return true;
  }
  return false;
}

RunInfo run_rounds(CaseList& cases, const Options& options) {
  RunInfo info;
  info.rounds = options.rounds;
  info.kernel = kernel_release();
  info.cpus = ::sysconf(_SC_NPROCESSORS_ONLN);
  const CpuTimes before = read_cpu_times();
  const std::uint64_t start = now_ns();
  for (const auto& one : cases) one->set_up();
  double budget = options.quiet_seconds;
  for (int round = 0; round < options.rounds; ++round) {
    if (wait_for_quiet(budget)) ++info.quiet_rounds;
    run_round(cases, options.scale);
  }
  for (const auto& one : cases) one->tear_down();
  info.seconds = static_cast<double>(now_ns() - start) / 1e9;
  const CpuTimes after = read_cpu_times();
  info.steal_percent = 100 * (after.steal - before.steal) / std::max(1.0, after.total - before.total);
  return info;
}

int run(const Options& options) {
  ::signal(SIGPIPE, SIG_IGN);
  raise_descriptor_limit();
  Selection selection = select_cases(options);
  if (options.list) {
    for (const CaseList* list : {&selection.interleaved, &selection.once}) {
      for (const auto& one : *list) std::puts(one->name().c_str());
    }
    return 0;
  }
  const RunInfo info = run_rounds(selection.interleaved, options);
  // Memory is counted, not timed: once, when nothing else is left running.
  for (auto& one : selection.once) {
    one->set_up();
    one->run(1);
    for (const auto& series : one->series()) series->end_round();
    one->tear_down();
    selection.interleaved.push_back(std::move(one));
  }
  print_table(selection.interleaved, info);
  if (!options.json.empty()) write_json(selection.interleaved, info, options.json);
  const std::vector<std::string> empty = empty_series(selection.interleaved);
  for (const std::string& name : empty) std::fprintf(stderr, "hb_bench: no number: %s\n", name.c_str());
  return options.require_all && !empty.empty() ? 1 : 0;
}

}  // namespace
}  // namespace hb::bench

int main(int argc, char** argv) {
  int exit_code = 0;
  const auto options = hb::bench::parse_options(argc, argv, exit_code);
  return options ? hb::bench::run(*options) : exit_code;
}
