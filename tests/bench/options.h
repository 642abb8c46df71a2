// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace hb::bench {

struct Options {
  int rounds = 9;
  double scale = 0.5;         // of the samples of a round
  double quiet_seconds = 10;  // to wait in all for the rest of the machine to be idle
  bool large_memory = true;   // the 100,000 exports too
  bool floor_only = false;
  bool list = false;
  bool require_all = false;  // fail when a case produced no number
  std::string filter = ".*";
  std::string json;
  std::string daemon;                 // program
  std::string programs;               // directory of the co-processes
  std::vector<std::string> external;  // NAME[:REFERENCE]=COMMAND
};

// Nothing when --help was asked for or an argument was wrong (said on standard error): `exit_code` then.
[[nodiscard]] std::optional<Options> parse_options(int argc, char** argv, int& exit_code);

}  // namespace hb::bench
