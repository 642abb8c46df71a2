// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "hipbroker/hipbroker.h"

namespace hb::client {

// Counters of one client. Relaxed: they are numbers to look at, nothing is ordered by them.
struct Stats {
  using Counter = std::atomic<std::uint64_t>;
  Counter exports{0};
  Counter imports{0};
  Counter cache_hits{0};
  Counter evictions{0};
  Counter withdrawn{0};
  Counter reconnects{0};
  Counter mapped_bytes{0};
  Counter fetched_fds{0};
  std::array<Counter, HB_STATS_REFUSALS> refusals{};

  static void add(Counter& counter, std::uint64_t n = 1) { counter.fetch_add(n, std::memory_order_relaxed); }
  void count_refusal(hb_status status) {
    if (status < 0 && -status < HB_STATS_REFUSALS) add(refusals[static_cast<std::size_t>(-status)]);
  }
};

}  // namespace hb::client
