// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Runs a program without the host program noticing: no SIGCHLD, nothing that its waitpid(-1) could reap, no
// descriptor of its kept open, no fork of its memory (a copy-on-write page table would pull pages away from
// under a GPU).
//
// How: execve() makes SIGCHLD the end signal of every process, so the program cannot be our own child. A
// middle process stands between: a clone() that shares our memory, executes nothing and has no end signal, so
// that only __WCLONE finds it. It starts the program as vfork() does, waits for it and ends. It stays,
// because a program whose parent is gone would fall to the host where that is a subreaper or the first
// process of a container.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "error.h"

namespace hb::client::hip {

struct HelperEnd {
  std::string output;      // what it wrote to descriptor 3
  int exit_code = -1;      // -1: did not exit by itself
  int signal = 0;          // that ended it
  bool timed_out = false;  // killed by us, or hanging where no signal reaches it
};

// "SIGSEGV", or "signal 40".
[[nodiscard]] std::string signal_text(int signal);

// argv[0] is the program. Its standard descriptors are /dev/null.
[[nodiscard]] Result<HelperEnd> run_helper(const std::vector<std::string>& argv, std::uint64_t limit_ns);

}  // namespace hb::client::hip
