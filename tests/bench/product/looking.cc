// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>

#include "bench/floor/channel.h"
#include "bench/harness/answer_rounds.h"
#include "bench/harness/check.h"
#include "bench/harness/child.h"
#include "bench/harness/clock.h"
#include "bench/product/cases.h"

namespace hb::bench {
namespace {

constexpr std::size_t kRangeBytes = 4096;
constexpr int kTimes = 7;
constexpr int kEndMs = 60'000;

// The program as a person or a timer runs it, start and end included; its output goes nowhere.
double run_ms(const Rig& rig, const std::vector<std::string>& verb) {
  std::vector<std::string> command{HB_BENCH_CTL, "--socket", rig.socket, "--timeout", "60"};
  command.insert(command.end(), verb.begin(), verb.end());
  std::vector<std::uint64_t> taken;
  for (int i = 0; i < kTimes; ++i) {
    const std::uint64_t start = now_ns();
    Child program = Child::execute(command, [] {
      const UniqueFd nowhere(::open("/dev/null", O_WRONLY | O_CLOEXEC));
      HB_BENCH_CHECK(nowhere && ::dup2(nowhere.get(), STDOUT_FILENO) == STDOUT_FILENO);
    });
    if (program.wait(kEndMs) != 0) die("%s %s failed", HB_BENCH_CTL, verb.front().c_str());
    taken.push_back(now_ns() - start);
  }
  std::nth_element(taken.begin(), taken.begin() + kTimes / 2, taken.end());
  return static_cast<double>(taken[kTimes / 2]) / 1e6;
}

}  // namespace

void run_looking(const Rig& rig, std::size_t count) {
  const Client client = open_client(rig);
  const UniqueFd memory = make_memory(count * kRangeBytes);
  answer_rounds([&](int) {
    for (std::size_t i = 0; i < count; ++i) {
      const std::string name = "bench/looking/" + std::to_string(i);
      const hb_chunk chunk{memory.get(), i * kRangeBytes, kRangeBytes};
      hb_export_options options = HB_EXPORT_OPTIONS_INIT;
      options.name = name.c_str();
      options.chunks = &chunk;
      options.chunk_count = 1;
      options.replace = 1;
      hb_export* exported = nullptr;
      hb_error error = HB_ERROR_INIT;
      require(hb_export_create(client.get(), &options, &exported, &error), error, "hb_export_create");
      hb_export_destroy(exported);
    }
    RoundAnswer answer;
    answer.metrics.emplace_back("ls_ms", run_ms(rig, {"ls"}));
    answer.metrics.emplace_back("metrics_ms", run_ms(rig, {"metrics"}));
    return answer;
  });
}

}  // namespace hb::bench
