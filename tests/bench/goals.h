// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace hb::bench {

struct Goal {
  enum class Of { kRatio, kValue, kTail };  // tail: p99 / median
  std::string_view series;
  Of of = Of::kRatio;
  bool at_most = true;  // false: at least
  double bound = 0;
};

// The project's goal for a series, if it has one.
[[nodiscard]] const Goal* find_goal(std::string_view series);
[[nodiscard]] std::string goal_text(const Goal& goal);
[[nodiscard]] bool goal_met(const Goal& goal, double median, double p99, double ratio);

}  // namespace hb::bench
