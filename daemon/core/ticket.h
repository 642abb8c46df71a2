// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Tickets: leases that the daemon holds for whoever comes with the key, until a deadline.
#pragma once

#include "core/core.h"

namespace hb::core {

// All tickets of an export: it is taken back, whoever was to come.
void drop_tickets(Call& call, std::uint32_t export_slot);
void expire_ticket(Call& call, std::uint32_t ticket_slot);

}  // namespace hb::core
