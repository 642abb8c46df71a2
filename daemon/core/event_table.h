// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// What sessions have not been told yet: at most one entry a lease, and one an owned export that was taken
// away. What happens before it is taken is merged, so that a reader who never reads costs no more than it
// holds.
#pragma once

#include "core/core.h"

namespace hb::core {

// A holder is told. `chunks` with kReplaced.
void tell_holder(Call& call, std::uint32_t lease_slot, EventKind kind, ChunkRun chunks = {});
// The owner's session is told that its export was taken from it.
void tell_owner(Call& call, std::uint32_t export_slot, EventKind kind);
// The lease came to the present layout by itself: what is untold of growth, replacement and sleep is
// overtaken.
void forget_layout_events(Core& core, std::uint32_t lease_slot);
// Takes an entry out of its session's list and of the table.
void drop_event(Core& core, std::uint32_t slot);

}  // namespace hb::core
