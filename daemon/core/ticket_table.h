// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Tickets: those that stand, and as much of the ended ones as tells what became of them. Bounded.
#pragma once

#include <cstdint>
#include <memory>

#include "core/slot_table.h"
#include "core/types.h"

namespace hb::core {

enum class TicketEnd : std::uint8_t {
  kNone = 0,  // it stands
  kUsed = 1,
  kDropped = 2,
  kExpired = 3,
  kRevoked = 4,
  kAsleep = 5,  // its export ended while it slept: there was nothing left to pin
};

struct Ticket {
  std::uint64_t offset = 0;  // inside the export; fixed, whatever becomes of the export's length
  std::uint64_t length = 0;
  Time made = 0;
  Time deadline = kNever;
  SessionId maker;
  std::shared_ptr<const ProcessInfo> process;  // of the maker, who may be gone; none once it has ended
  ExportId exported;
  ScopeId scope;
  std::uint32_t uid = 0;  // of the maker
  std::uint32_t gid = 0;
  std::uint32_t account = kNoSlot;  // the maker's, a reference; none once it has ended
  std::uint32_t timer = kNoSlot;    // in the deadline queue
  std::uint64_t order = 0;          // of being made, then of its end, among all
  Links of_export;                  // of an ended one: the line of those
  Access access = Access::kNone;
  TicketEnd end = TicketEnd::kNone;
};

class TicketTable {
 public:
  [[nodiscard]] std::uint32_t emplace(Ticket ticket) {
    ticket.order = ++last_order_;
    return table_.emplace(std::move(ticket));
  }
  [[nodiscard]] const Ticket* find(TicketId id) const { return table_.find(id); }
  [[nodiscard]] Ticket& at(std::uint32_t slot) { return table_.at(slot); }
  [[nodiscard]] const Ticket& at(std::uint32_t slot) const { return table_.at(slot); }
  [[nodiscard]] TicketId id_of(std::uint32_t slot) const { return table_.id_of(slot); }
  [[nodiscard]] SlotTable<Ticket, TicketId>& table() { return table_; }
  [[nodiscard]] const SlotTable<Ticket, TicketId>& table() const { return table_; }

  // It stands no more and is only remembered. It is on no export's list any longer.
  void remember(std::uint32_t slot, TicketEnd how);
  // As it was before a restart; ended ones come in their order. False: the id is none.
  [[nodiscard]] bool restore(TicketId id, Ticket ticket);
  [[nodiscard]] std::size_t standing() const { return table_.size() - remembered_; }
  [[nodiscard]] std::uint64_t remembered() const { return remembered_; }

 private:
  void line_up(std::uint32_t slot);
  SlotTable<Ticket, TicketId> table_;
  std::uint32_t oldest_ = kNoSlot;
  std::uint32_t youngest_ = kNoSlot;
  std::uint64_t remembered_ = 0;
  std::uint64_t last_order_ = 0;
};

}  // namespace hb::core
