// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#pragma once

#include <cstddef>

#include "bench/harness/case.h"
#include "bench/harness/placement.h"

namespace hb::bench {

// Closed-loop acquires of many connections against the bare epoll server; descriptors closed, not mapped.
void add_throughput(CaseList& cases, Placement placement);

[[nodiscard]] int throughput_samples(std::size_t connections);  // of one round

}  // namespace hb::bench
