// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "core/ticket_table.h"

#include <algorithm>
#include <utility>

#include "wire/limits.h"

namespace hb::core {

void TicketTable::remember(std::uint32_t slot, TicketEnd how) {
  Ticket& ticket = table_.at(slot);
  ticket.end = how;
  ticket.process.reset();
  ticket.order = ++last_order_;
  line_up(slot);
  if (remembered_ <= limits::kEndedTickets) return;
  const std::uint32_t forgotten = oldest_;
  oldest_ = table_.at(forgotten).of_export.next;
  table_.at(oldest_).of_export.previous = kNoSlot;
  --remembered_;
  table_.erase(forgotten);
}

void TicketTable::line_up(std::uint32_t slot) {
  table_.at(slot).of_export = {youngest_, kNoSlot};
  if (youngest_ != kNoSlot)
    table_.at(youngest_).of_export.next = slot;
  else
    oldest_ = slot;
  youngest_ = slot;
  ++remembered_;
}

bool TicketTable::restore(TicketId id, Ticket ticket) {
  const bool ended = ticket.end != TicketEnd::kNone;
  last_order_ = std::max(last_order_, ticket.order);
  if (!table_.emplace_at(id, std::move(ticket))) return false;
  if (ended) line_up(id.slot());
  return true;
}

}  // namespace hb::core
