// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "bench/harness/answer_rounds.h"

#include <algorithm>
#include <cstdio>

#include "bench/harness/clock.h"

namespace hb::bench {

void answer_rounds(const std::function<RoundAnswer(int samples)>& run) {
  char line[128];
  while (std::fgets(line, sizeof line, stdin) != nullptr) {
    int samples = 0;
    if (std::sscanf(line, "RUN %d", &samples) != 1) return;
    RoundAnswer answer;
    if (samples > 0) answer = run(samples);
    for (const std::uint64_t ns : answer.samples_ns)
      std::printf("%llu\n", static_cast<unsigned long long>(ns));
    std::printf("END");
    for (const auto& [key, value] : answer.metrics) std::printf(" %s=%.3f", key.c_str(), value);
    std::printf("\n");
    std::fflush(stdout);
  }
}

RoundAnswer time_steps(int samples, const std::function<void()>& step, const std::function<void()>& between) {
  RoundAnswer answer;
  answer.samples_ns.reserve(static_cast<std::size_t>(samples));
  const int warm_up = std::min(samples / 10 + 1, 20);
  for (int i = -warm_up; i < samples; ++i) {
    const std::uint64_t start = now_ns();
    step();
    const std::uint64_t end = now_ns();
    if (between) between();
    if (i >= 0) answer.samples_ns.push_back(end - start);
  }
  return answer;
}

}  // namespace hb::bench
