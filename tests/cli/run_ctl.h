// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#pragma once

#include <string>
#include <vector>

#include "support/process.h"

namespace hb::test {

struct Ran {
  int exit_code = -1;  // -1: by a signal, or not at all within the watchdog
  std::string out;
  std::string err;
};

// Any program with what it wrote.
[[nodiscard]] Ran run_program(const std::vector<std::string>& argv, const ProcessOptions& options = {});
// hipbrokerctl with what it wrote to two files (as a pipe: no terminal).
[[nodiscard]] Ran run_ctl(const std::vector<std::string>& arguments, const ProcessOptions& options = {});
// hipbrokerctl at a terminal of so many columns; `out` is what the terminal got, without carriage returns.
[[nodiscard]] Ran run_ctl_at_terminal(int columns, const std::vector<std::string>& arguments);

}  // namespace hb::test
