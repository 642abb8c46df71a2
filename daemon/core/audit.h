// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// What the core tells the audit trail: who got what for the first time, when the last of it was given back,
// who was refused, what was taken back. Never a key, a ticket or a secret.
#pragma once

#include <cstdint>
#include <string>

#include "core/effect.h"
#include "core/export_state.h"
#include "core/keyed_hash.h"
#include "core/slot_index.h"
#include "core/slot_table.h"

namespace hb::core {

struct Asker;
struct Call;
struct Core;
struct Lease;

// All leases that one session has of one export.
struct LeaseSet {
  Time since = 0;
  std::uint64_t acquires = 0;
  std::uint32_t live = 0;
  std::uint32_t session = kNoSlot;
  std::uint32_t exported = kNoSlot;
  std::uint32_t hash = 0;
};

class LeaseSetTable {
 public:
  explicit LeaseSetTable(const Secret& secret) : hash_(secret) {}

  // One acquire more. A set that has one acquire has just begun.
  [[nodiscard]] std::uint32_t join(std::uint32_t session, std::uint32_t exported, Time now);
  // One lease less. A set that has none left is to be erased.
  LeaseSet& leave(std::uint32_t set);
  void erase(std::uint32_t set);

  [[nodiscard]] const LeaseSet& at(std::uint32_t set) const { return table_.at(set); }
  [[nodiscard]] bool live(std::uint32_t set) const { return table_.live(set); }
  [[nodiscard]] std::size_t size() const { return table_.size(); }
  [[nodiscard]] std::size_t indexed() const { return index_.size(); }

 private:
  KeyedHash hash_;
  SlotTable<LeaseSet, Id<LeaseSet>> table_;
  SlotIndex index_;
};

// A lease was made; it is counted in a set.
void note_acquired(Call& call, std::uint32_t lease_slot);
// It ends.
void note_released(Call& call, const Lease& lease);
// Where the answer says that somebody may not, or reached a limit: what went wrong by itself is no refusal.
void note_refused(Call& call, const Asker& asker, const Error& error);
void note_revoked(Call& call, const Asker& asker, std::uint32_t export_slot);

// Of an answer to who presented this: DENIED and the like; a key that does not verify is a guess.
[[nodiscard]] bool is_refusal(hb_status status, bool by_key);

// What the error says, without who and of what.
[[nodiscard]] Audit refusal_of(const Error& error);

// Empty, or what is wrong.
[[nodiscard]] std::string first_broken_lease_set(const Core& core);

}  // namespace hb::core
