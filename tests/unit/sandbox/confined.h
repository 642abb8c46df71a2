// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// A child that enters the sandbox and then does one thing.
#pragma once

#include <functional>
#include <string>

#include "os/sandbox.h"

namespace hb::test {

struct Ending {
  int exit_code = -1;  // -1: by a signal
  int signal = 0;
  bool core = false;
};

inline constexpr int kCouldNotEnter = 90;

// `deed` runs in the sandbox and returns the exit code: 0, or an errno. `before` runs just outside it.
[[nodiscard]] Ending confined(const os::FileView& files, const std::function<int()>& deed,
                              const std::function<void()>& before = {});

// "0 when it worked, else errno", of a system call's result.
[[nodiscard]] int outcome_of(long result);

}  // namespace hb::test
