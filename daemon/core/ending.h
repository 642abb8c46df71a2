// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// How things end: leases, exports, stagings, waits. Each leaves no trace but what is remembered on purpose.
#pragma once

#include <cstdint>

#include "core/core.h"

namespace hb::core {

// Clears the validity word (unless the session is ending) and forgets the lease.
void end_lease(Call& call, std::uint32_t slot);

// All leases, all chunks; the key is dead, the name free, the end remembered. Handles are gathered.
void end_export(Call& call, std::uint32_t slot);

// A staging that failed or was given up: chunks, promises and the reservation of the name go.
void drop_staging(Call& call, Session& session, Staging* staging);

// Takes a wait out of its line, its session and the deadlines.
[[nodiscard]] Wait take_wait(Core& core, std::uint32_t slot);

}  // namespace hb::core
