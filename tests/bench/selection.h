// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#pragma once

#include <memory>
#include <vector>

#include "bench/harness/case.h"
#include "bench/options.h"
#include "bench/product/daemon.h"

namespace hb::bench {

struct Selection {
  std::vector<std::unique_ptr<PrivateDaemon>> daemons;  // outlive the cases that speak to them
  CaseList interleaved;
  CaseList once;  // after the rounds, one at a time
};

// The cases that the options ask for, and the floors that those refer to. Starts the daemons.
[[nodiscard]] Selection select_cases(const Options& options);

}  // namespace hb::bench
