// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Who holds what: one entry an acquire, on the list of its session and on the list of its export.
#pragma once

#include <cstdint>

#include "core/slot_table.h"
#include "core/types.h"

namespace hb::core {

struct Lease {
  std::uint64_t offset = 0;  // of the granted range inside the export
  std::uint64_t length = 0;
  std::uint64_t layout_version = 0;  // pages of another layout are never given under this lease
  Time created = 0;
  std::uint32_t first_chunk = 0;
  std::uint32_t chunk_count = 0;
  std::uint32_t session = kNoSlot;
  std::uint32_t exported = kNoSlot;
  Links of_session;
  Links of_export;
  std::uint32_t set = kNoSlot;  // of leases that its session has of its export (audit.h)
  std::uint32_t validity_slot = 0;
  std::uint32_t validity_value = 0;
  std::uint32_t pending = kNoSlot;  // what its session has not been told yet, in the event table
  std::uint64_t acked_step = 0;
  std::uint64_t order = 0;  // of being granted, among all
  Access access = Access::kNone;
  Level level = Level::kNone;
  bool current = true;       // its validity word says so
  bool follows = false;      // goes to the end of the export, wherever that comes to be
  bool unmap_asked = false;  // by a suspension, and not answered
  bool pins = false;         // it came of a ticket: chunks stay for it when the export ends
};

using LeaseTable = SlotTable<Lease, LeaseId>;

}  // namespace hb::core
