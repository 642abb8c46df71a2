// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Tickets: leases that the daemon holds for whoever comes with the key, until a deadline. Once used, the
// lease that came of it pins in the ticket's place until it is given back: pages that are still to be
// fetched, and an answer that was lost on the way, are never void because the export ended meanwhile.
#pragma once

#include "core/core.h"
#include "core/lookup.h"

namespace hb::core {

// The key of a ticket, for acquire alone: everything else takes keys.
[[nodiscard]] bool is_ticket(const Target& target);

// A ticket that stands, of an export that `who` may read.
[[nodiscard]] tl::expected<Found, Error> find_by_ticket(const Core& core, const Principal& who,
                                                        const KeyBytes& key);

// It stands no more. An ended export may have nothing left that holds it.
void end_ticket(Call& call, std::uint32_t ticket_slot, TicketEnd how);

// All that pins an export for want of its end, leases that came of tickets included: it is taken back, or
// there is nothing left to pin.
void drop_pins(Call& call, std::uint32_t export_slot, TicketEnd how);
void expire_ticket(Call& call, std::uint32_t ticket_slot);

}  // namespace hb::core
