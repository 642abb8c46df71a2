// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "unit/sandbox/confined.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

namespace hb::test {

Ending confined(const os::FileView& files, const std::function<int()>& deed,
                const std::function<void()>& before) {
  const pid_t child = ::fork();
  if (child == 0) {
    // A core would be written if anything let it: that none is shows more than a limit of 0.
    const rlimit endless{RLIM_INFINITY, RLIM_INFINITY};
    ::setrlimit(RLIMIT_CORE, &endless);
    if (before) before();
    const auto state = os::enter_sandbox(files);
    if (!state) {
      std::fprintf(stderr, "enter_sandbox: %s\n", state.error().c_str());
      ::_exit(kCouldNotEnter);
    }
    ::_exit(deed());
  }
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  Ending ending;
  if (WIFEXITED(status)) ending.exit_code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) {
    ending.signal = WTERMSIG(status);
    ending.core = WCOREDUMP(status);
  }
  return ending;
}

int outcome_of(long result) { return result >= 0 ? 0 : errno; }

}  // namespace hb::test
