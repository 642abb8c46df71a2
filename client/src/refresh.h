// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// An import follows its export: what was added is mapped behind, what was replaced in its place, and after a
// sleep all of it again, at the addresses it had. Whole or not at all.
#pragma once

#include <cstdint>

#include "error.h"
#include "import.h"

namespace hb::client {

struct Refreshed {
  std::uint64_t layout_version = 0;  // what is mapped now
  std::uint64_t bytes = 0;
  std::uint64_t old_bytes = 0;  // when the call began
  std::uint64_t first_new_chunk = 0;
  std::uint64_t new_chunks = 0;
  std::uint64_t replaced_chunks = 0;
  bool woken = false;
};

// Threads that ask at once make one refresh. HB_SUSPENDED, HB_RANGE (more than was reserved), HB_ADDRESS,
// HB_GONE, HB_REVOKED, HB_STALE, HB_CLOSED (the session was lost), HB_NO_FDS and what mapping says.
[[nodiscard]] Result<Refreshed> refresh_import(hb_import& imported, std::uint64_t deadline_ns);

// Gives way: unmaps, tells the daemon. Addresses stay where that keeps no memory.
[[nodiscard]] Result<void> unmap_import(hb_import& imported);

}  // namespace hb::client
