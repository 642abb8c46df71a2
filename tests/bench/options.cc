// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "bench/options.h"

#include <CLI/CLI.hpp>

namespace hb::bench {

std::optional<Options> parse_options(int argc, char** argv, int& exit_code) {
  Options options;
  options.daemon = HB_BENCH_DAEMON;
  options.programs = HB_BENCH_PROGRAMS;
  bool quick = false, full = false, smoke = false;
  CLI::App app{"Measures hipbroker against the bare kernel, in interleaved rounds.", "hb_bench"};
  app.add_flag("--quick", quick, "about a minute (default)");
  app.add_flag("--full", full, "15 rounds of full length: about four minutes")->excludes("--quick");
  app.add_flag("--smoke", smoke, "tiny counts; fails when a case produces no number; the numbers say nothing")
      ->excludes("--quick")
      ->excludes("--full");
  const auto* rounds = app.add_option("--rounds", options.rounds, "rounds")->check(CLI::PositiveNumber);
  const auto* scale =
      app.add_option("--scale", options.scale, "multiply the samples of a round")->check(CLI::PositiveNumber);
  app.add_option("--filter", options.filter,
                 "regular expression: cases to run (and the floor they refer to)");
  app.add_option("--json", options.json, "also write the results to this file");
  const auto* quiet = app.add_option("--quiet-wait", options.quiet_seconds,
                                     "seconds to wait in all for an otherwise idle machine");
  app.add_flag("--floor-only", options.floor_only, "the kernel's floor alone, without the product");
  app.add_flag("--list", options.list, "name the cases");
  app.add_option("--daemon", options.daemon, "hipbrokerd to measure")->capture_default_str();
  app.add_option("--programs", options.programs, "directory of hb_bench_product")->capture_default_str();
  app.add_option("--ext", options.external,
                 "NAME[:REFERENCE]=COMMAND: a program that joins the rounds (docs/benchmarks.md)");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    exit_code = app.exit(error) == 0 ? 0 : 64;
    return std::nullopt;
  }
  if (full) {
    if (rounds->empty()) options.rounds = 15;
    if (scale->empty()) options.scale = 1;
    if (quiet->empty()) options.quiet_seconds = 60;
  }
  if (smoke) {
    options.require_all = true;
    options.large_memory = false;
    if (rounds->empty()) options.rounds = 1;
    if (scale->empty()) options.scale = 0.02;
    options.quiet_seconds = 0;
  }
  return options;
}

}  // namespace hb::bench
