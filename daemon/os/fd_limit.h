// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#pragma once

#include <cstdint>

#include "wire/expected.h"
#include "wire/sys_error.h"

namespace hb::os {

struct FdLimit {
  std::uint64_t before = 0;  // soft RLIMIT_NOFILE as inherited
  std::uint64_t limit = 0;   // soft limit now
  std::uint64_t hard = 0;
};

// Raises the soft RLIMIT_NOFILE to the hard one.
[[nodiscard]] tl::expected<FdLimit, SysError> raise_fd_limit();

// Makes the kernel allocate the process's descriptor table at its final size (capped at 2^20 entries, 8 MiB).
// To be called before the first thread starts: growing the table of a process with threads waits for an RCU
// grace period, 13 ms measured, in the middle of somebody's request.
[[nodiscard]] tl::expected<void, SysError> grow_descriptor_table(std::uint64_t limit);

// How many descriptors this process has open, by /proc/self/fd.
[[nodiscard]] tl::expected<std::uint64_t, SysError> count_own_descriptors();

}  // namespace hb::os
