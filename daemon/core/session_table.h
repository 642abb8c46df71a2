// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// One authenticated connection each: who it is, and the heads of all that ends with it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/answer_log.h"
#include "core/charges.h"
#include "core/request.h"
#include "core/slot_table.h"
#include "core/types.h"
#include "core/validity_slots.h"

namespace hb::core {

// An export, or a change of one, whose pages are still coming. The record of a new one in the export table
// reserves its name.
struct Staging {
  std::uint32_t exported = kNoSlot;
  ChangeRequest::Kind change = ChangeRequest::Kind::kNone;  // none: it is a new export
  std::uint64_t first = 0;                                  // of a replacement
  std::string metadata;
  std::uint32_t acl = 0;        // counted in ExportTable::acls()
  std::uint32_t placement = 0;  // counted in ExportTable::placements()
  HandleKind kind = HandleKind::kMemfd;
  Access max_access = Access::kNone;
  std::uint64_t max_size = 0;
  bool replace = false;  // ends what bears the name then
  Lifetime lifetime = Lifetime::kOwner;
  std::uint64_t linger_ns = 0;
  bool promises_write = false;
  std::uint64_t total_chunks = 0;
  std::uint64_t total_size = 0;
  std::uint64_t handles_to_come = 0;  // promised by the descriptor budget
  std::uint64_t bytes = 0;
  std::vector<Chunk> chunks;
};

// Its place in a group.
struct Membership {
  std::uint32_t group = kNoSlot;
  std::uint32_t rank = 0;
  bool operator==(const Membership&) const = default;
};

struct Session {
  Principal principal;
  std::shared_ptr<const ProcessInfo> process;
  Time connected = 0;
  std::uint32_t exports = kNoSlot;  // list through Export::of_session
  std::uint32_t leases = kNoSlot;   // list through Lease::of_session
  std::uint32_t waits = kNoSlot;    // list through Wait::of_session
  std::uint32_t events = kNoSlot;   // list through PendingEvent::of_session, oldest first
  std::uint32_t last_event = kNoSlot;
  std::uint32_t losses = 0;  // events of exports that were taken from it
  bool subscribed = false;
  bool rung = false;         // its doorbell, and it has not taken all events since
  bool events_lost = false;  // there was no room for one: it has to look at everything
  bool ending = false;       // no effect is addressed to it any more
  std::uint64_t edge = 0;    // the edge's own
  // Ids of requests that waited when the process before this one died: sent once more, they are new.
  std::vector<std::uint64_t> parked_before;
  Charges charges;
  std::uint32_t account = kNoSlot;  // none: the admin's
  std::vector<std::unique_ptr<Staging>> stagings;
  std::vector<Membership> groups;
  AnswerLog answers;
  ValiditySlots validity;
};

using SessionTable = SlotTable<Session, SessionId>;

}  // namespace hb::core
