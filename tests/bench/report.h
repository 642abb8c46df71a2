// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#pragma once

#include <string>

#include "bench/harness/case.h"

namespace hb::bench {

struct RunInfo {
  int rounds = 0;
  int quiet_rounds = 0;  // before which the rest of the machine was idle
  double seconds = 0;
  double steal_percent = 0;  // time the hypervisor gave to others
  std::string kernel;
  long cpus = 0;
};

// One line a series for a person: name, median, p99, the floor's median, ratio, goal.
void print_table(const CaseList& cases, const RunInfo& info);
void write_json(const CaseList& cases, const RunInfo& info, const std::string& path);

// Names of series without a finite number above zero: a case that measured nothing.
[[nodiscard]] std::vector<std::string> empty_series(const CaseList& cases);

}  // namespace hb::bench
