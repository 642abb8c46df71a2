// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "bench/goals.h"

#include <array>
#include <cstdio>

namespace hb::bench {
namespace {

using Of = Goal::Of;
constexpr double kMemoryUserBytes = 40 + 220 + 64;  // name, metadata and 64 (product/memory.cc)

constexpr std::array kGoals{
    Goal{"product.acquire.key@same", Of::kRatio, true, 1.15},
    Goal{"product.acquire.name@same", Of::kRatio, true, 1.15},
    Goal{"product.register@same", Of::kRatio, true, 1.15},
    Goal{"product.acquires.conns64@same rate", Of::kRatio, false, 0.90},
    Goal{"product.acquires.conns512@same rate", Of::kRatio, false, 0.90},
    Goal{"product.acquires.conns64@split rate", Of::kRatio, false, 0.90},
    Goal{"product.acquires.conns512@split rate", Of::kRatio, false, 0.90},
    Goal{"product.acquires.conns64@same server cpu", Of::kRatio, true, 1.15},
    Goal{"product.acquires.conns512@same server cpu", Of::kRatio, true, 1.15},
    Goal{"product.acquires.conns512@same", Of::kTail, true, 2.5},
    Goal{"product.batch253.nomap@same", Of::kRatio, true, 1.3},
    Goal{"product.cached.of1", Of::kValue, true, 15},
    Goal{"product.cached.of1000", Of::kValue, true, 15},
    Goal{"product.memory daemon per export of 10000", Of::kValue, true, kMemoryUserBytes},
    Goal{"product.memory daemon per export of 100000", Of::kValue, true, kMemoryUserBytes},
    Goal{"product.looking ls of 10000", Of::kValue, true, 200},
    Goal{"product.looking metrics of 10000", Of::kValue, true, 100},
};

}  // namespace

const Goal* find_goal(std::string_view series) {
  for (const Goal& goal : kGoals) {
    if (goal.series == series) return &goal;
  }
  return nullptr;
}

std::string goal_text(const Goal& goal) {
  char text[48];
  const char* of = goal.of == Of::kRatio ? "x" : goal.of == Of::kTail ? " p99/med" : "";
  std::snprintf(text, sizeof text, "%s%.4g%s", goal.at_most ? "<=" : ">=", goal.bound, of);
  return text;
}

bool goal_met(const Goal& goal, double median, double p99, double ratio) {
  const double value = goal.of == Of::kRatio ? ratio : goal.of == Of::kValue ? median : p99 / median;
  return goal.at_most ? value <= goal.bound : value >= goal.bound;
}

}  // namespace hb::bench
