// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "core/ticket_table.h"

#include "wire/limits.h"

namespace hb::core {

void TicketTable::remember(std::uint32_t slot, TicketEnd how) {
  Ticket& ticket = table_.at(slot);
  ticket.end = how;
  ticket.process.reset();
  ticket.of_export = {youngest_, kNoSlot};
  if (youngest_ != kNoSlot)
    table_.at(youngest_).of_export.next = slot;
  else
    oldest_ = slot;
  youngest_ = slot;
  if (++remembered_ <= limits::kEndedTickets) return;
  const std::uint32_t forgotten = oldest_;
  oldest_ = table_.at(forgotten).of_export.next;
  table_.at(oldest_).of_export.previous = kNoSlot;
  --remembered_;
  table_.erase(forgotten);
}

}  // namespace hb::core
