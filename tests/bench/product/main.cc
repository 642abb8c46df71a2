// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// hb_bench_product SOCKET SERVER-PID PLACEMENT VERB [ARGUMENT...]: one case of the product as a co-process
// (harness/coprocess.h). SOCKET is a running hipbrokerd's, so that it can be run alone under a profiler.
#include <cstdlib>
#include <string>

#include "bench/harness/check.h"
#include "bench/harness/machine.h"
#include "bench/product/cases.h"

namespace hb::bench {
namespace {

std::size_t count_of(const std::string& text) {
  char* end = nullptr;
  const unsigned long long value = std::strtoull(text.c_str(), &end, 10);
  errno = 0;
  if (*end != '\0' || value == 0) die("not a count: %s", text.c_str());
  return static_cast<std::size_t>(value);
}

int run(const std::vector<std::string>& words) {
  const auto placement = parse_placement(words.size() > 3 ? words[2] : "");
  if (!placement) {
    die("usage: hb_bench_product SOCKET SERVER-PID same|split "
        "acquire-key|acquire-name|handles|register|batch N|cached N|acquires N|cycles N|looking N|memory "
        "N...");
  }
  const Rig rig{.socket = words[0], .server = std::atoi(words[1].c_str()), .placement = *placement};
  const std::string& verb = words[3];
  std::vector<std::size_t> counts;
  for (std::size_t i = 4; i < words.size(); ++i) counts.push_back(count_of(words[i]));
  raise_descriptor_limit();
  if (counts.empty()) {
    if (verb == "acquire-key") return run_acquire(rig, FindBy::kKey), 0;
    if (verb == "acquire-name") return run_acquire(rig, FindBy::kName), 0;
    if (verb == "handles") return run_handles(rig, 1), 0;
    if (verb == "register") return run_register(rig), 0;
  } else {
    if (verb == "batch") return run_handles(rig, counts[0]), 0;
    if (verb == "cached") return run_cached(rig, counts[0]), 0;
    if (verb == "acquires") return run_throughput(rig, counts[0], false), 0;
    if (verb == "cycles") return run_throughput(rig, counts[0], true), 0;
    if (verb == "looking") return run_looking(rig, counts[0]), 0;
    if (verb == "memory") return run_memory(rig, counts), 0;
  }
  die("no such case: %s", verb.c_str());
}

}  // namespace
}  // namespace hb::bench

int main(int argc, char** argv) { return hb::bench::run(std::vector<std::string>(argv + 1, argv + argc)); }
