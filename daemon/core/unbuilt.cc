// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "core/failure.h"
#include "core/ticket.h"
#include "core/verbs.h"

namespace hb::core {
namespace {
Outcome none() { return failure(HB_UNSUPPORTED, "not built yet"); }
}  // namespace
Outcome make_ticket(Call&, Asker&, const MakeTicketRequest&) { return none(); }
Outcome drop_ticket(Call&, Asker&, const DropTicketRequest&) { return none(); }
void drop_tickets(Call&, std::uint32_t) {}
void expire_ticket(Call&, std::uint32_t) {}
}  // namespace hb::core
