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
#include "core/quota.h"
#include "core/slot_table.h"
#include "core/types.h"
#include "core/validity_slots.h"

namespace hb::core {

// An export whose pages are still coming. Its record in the export table reserves the name.
struct Staging {
  std::uint32_t exported = kNoSlot;
  std::string metadata;
  std::uint32_t acl = 0;        // counted in ExportTable::acls()
  std::uint32_t placement = 0;  // counted in ExportTable::placements()
  HandleKind kind = HandleKind::kMemfd;
  Access max_access = Access::kNone;
  bool promises_write = false;
  std::uint64_t total_chunks = 0;
  std::uint64_t total_size = 0;
  std::uint64_t handles_to_come = 0;  // promised by the descriptor budget
  std::uint64_t bytes = 0;
  std::vector<Chunk> chunks;
};

struct Session {
  Principal principal;
  std::shared_ptr<const ProcessInfo> process;
  Time connected = 0;
  std::uint32_t exports = kNoSlot;  // list through Export::of_session
  std::uint32_t leases = kNoSlot;   // list through Lease::of_session
  std::uint32_t waits = kNoSlot;    // list through Wait::of_session
  bool ending = false;              // no effect is addressed to it any more
  Charges charges;
  std::vector<std::unique_ptr<Staging>> stagings;
  AnswerLog answers;
  ValiditySlots validity;
};

using SessionTable = SlotTable<Session, SessionId>;

}  // namespace hb::core
