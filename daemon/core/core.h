// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// All tables of the broker, and what every verb needs of them. Private to daemon/core.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "core/account_table.h"
#include "core/allocation_table.h"
#include "core/audit.h"
#include "core/broker.h"
#include "core/deadline_queue.h"
#include "core/export_table.h"
#include "core/fd_budget.h"
#include "core/group_table.h"
#include "core/lease_table.h"
#include "core/session_table.h"
#include "core/ticket_table.h"
#include "core/wait_table.h"

namespace hb::core {

// What one session has not been told yet, of one lease or of an export it owned (event_table.h). Later things
// take the place of earlier ones that they overtake.
struct PendingEvent {
  LeaseId lease;  // none: the owner is to be told
  ExportId exported;
  std::uint32_t generation = 0;      // of the owner's export
  std::uint64_t layout_version = 0;  // likewise
  std::uint32_t session = kNoSlot;
  Links of_session;
  Time since = 0;
  EventKind end = EventKind::kNone;    // withdrawn, revoked, gone, or the owner's death where that is the end
  EventKind sleep = EventKind::kNone;  // suspended or resumed
  EventKind owner = EventKind::kNone;  // died or claimed
  bool grown = false;
  ChunkRun replaced;
};
using EventTable = SlotTable<PendingEvent, Id<PendingEvent>>;

struct Core {
  explicit Core(const BrokerConfig& with);

  BrokerConfig config;
  AccountTable accounts;
  SessionTable sessions;
  ExportTable exports;
  AllocationTable allocations;
  LeaseTable leases;
  LeaseSetTable lease_sets;
  TicketTable tickets;
  WaitTable waits;
  GroupTable groups;
  EventTable events;
  DeadlineQueue deadlines;
  FdBudget fds;
  std::uint64_t awaited = 0;     // exports
  std::uint64_t last_grant = 0;  // Lease::order

  [[nodiscard]] std::uint64_t fds_used() const {
    return config.fd_base + sessions.size() * config.fds_per_session + allocations.size() + fds.extra();
  }
};

// One event on its way through the tables. Handles let go of are gathered and closed in one effect.
struct Call {
  Core& core;
  Time now = 0;
  Effects& out;
  std::vector<HandleId> closing{};

  void close_gathered() {
    if (!closing.empty()) out.emplace_back(CloseHandles{std::move(closing)});
    closing.clear();
  }
};

// The request under way and who sent it.
struct Asker {
  SessionId id;
  Session& session;
  std::uint64_t request_id = 0;
  std::uint16_t frame_type = 0;
  const Request* request = nullptr;  // none: it is answered later than it was asked
};

// What a verb comes to. Without a body there is no answer now: the request is parked, or one-way.
struct Outcome {
  std::optional<ReplyBody> body;
  bool after_close = false;
  bool ring = false;                  // the asker's doorbell, after the answer
  std::uint32_t completed = kNoSlot;  // an export that others may wait for

  Outcome() = default;
  template <class Body>
  requires std::constructible_from<ReplyBody, Body&&> Outcome(Body&& value)
      : body(std::forward<Body>(value)) {}  // NOLINT: a verb returns its answer
};

}  // namespace hb::core
