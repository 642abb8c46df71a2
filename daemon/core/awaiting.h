// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Exports whose descriptors, or whose owner's connection, went with the daemon before this one. They keep
// name, key and holders, sleep, and end when the owner does not come in time.
#pragma once

#include <unordered_set>

#include "core/core.h"

namespace hb::core {

// These are not there any more. Exports of theirs are awaited; without an owner that could bring them back
// they end.
void lose_allocations(Call& call, const std::unordered_set<HandleId>& handles, Time until);
// Its session has gone with its connection; the process may come back in another one.
void await(Call& call, std::uint32_t export_slot, Time until);
// Asleep: for its owner, until then.
void wait_for(Call& call, std::uint32_t export_slot, Time until);
// It is awake again, or its owner is there and it sleeps as the owner wanted.
void stop_awaiting(Call& call, std::uint32_t export_slot);

// Vouches for an export to the broker that made it, or to the one after it.
[[nodiscard]] Mac token_of(const Core& core, std::uint32_t export_slot);

}  // namespace hb::core
