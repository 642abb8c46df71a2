// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#pragma once

#include <sys/types.h>

#include <string>

#include "support/process.h"
#include "support/temp_dir.h"

namespace hb::test {

// strace over a process that runs and all its threads, from the moment the constructor returns.
class SystemCallLog {
 public:
  // `calls`: as behind `-e trace=`.
  SystemCallLog(pid_t pid, const std::string& calls);
  // Detaches, and returns the lines.
  [[nodiscard]] std::string stop();

 private:
  TempDir dir_;
  Process strace_;
};

}  // namespace hb::test
