// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// The other end of coprocess.h: the main loop of a program that is a case.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace hb::bench {

struct RoundAnswer {
  std::vector<std::uint64_t> samples_ns;
  std::vector<std::pair<std::string, double>> metrics;
};

// Calls `run` for every "RUN n" with n > 0 and prints its answer. Returns at QUIT or end of input.
void answer_rounds(const std::function<RoundAnswer(int samples)>& run);

// Times `step` n times after a short warm-up; `between` (may be empty) runs untimed after each.
[[nodiscard]] RoundAnswer time_steps(int samples, const std::function<void()>& step,
                                     const std::function<void()>& between = {});

}  // namespace hb::bench
