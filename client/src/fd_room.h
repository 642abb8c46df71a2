// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// How many descriptors this process can still open.
#pragma once

#include <cstdint>

#include "error.h"

namespace hb::client {

struct FdRoom {
  std::uint64_t limit = 0;  // soft RLIMIT_NOFILE
  std::uint64_t open = 0;
  [[nodiscard]] std::uint64_t free() const noexcept { return limit > open ? limit - open : 0; }
};

// Counts now. A kernel before 6.2 is asked for the whole list of /proc/self/fd.
[[nodiscard]] FdRoom fd_room();

// Descriptors to ask for in one page: min(253, half of the free ones), at least 1. The count is kept for a
// few milliseconds as long as it is far from the limit: acquires come by the thousand.
[[nodiscard]] std::uint32_t fds_per_page();

// HB_NO_FDS: "DOING needs NEED descriptors; RLIMIT_NOFILE is LIMIT and OPEN are open. ..."
[[nodiscard]] Error no_fds(const FdRoom& room, std::uint64_t need, const std::string& doing);
// Of a descriptor that could not be duplicated: no_fds() at the limit, else the call and its errno.
[[nodiscard]] Error duplicate_error(const SysError& cause, const std::string& doing);

}  // namespace hb::client
