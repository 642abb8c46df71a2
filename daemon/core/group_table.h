// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Groups: ranks of one uid in one scope that meet under a name, exchange what they export, and go on together
// until one of them leaves.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/effect.h"
#include "core/keyed_hash.h"
#include "core/slot_index.h"
#include "core/slot_table.h"
#include "core/types.h"

namespace hb::core {

struct GroupMember {
  std::uint32_t session = kNoSlot;
  std::uint32_t wait = kNoSlot;  // its parked request
  std::uint32_t world = 0;       // as it said
  std::uint32_t max_handles = 0;
  ExportId offer;
  std::string agreement;
  std::vector<LeaseId> leases;  // on the others' exports, by rank; none of its own rank's
  Access access = Access::kRead;
  bool any_layout = false;
  bool arrived = false;  // at the barrier under way
};

enum class GroupPhase : std::uint8_t {
  kGathering,  // ranks are missing; every one that is there waits
  kMapping,    // all have the leases of all; each maps, and says how it went
  kOpen,       // all have mapped
  kEnded,      // a rank died or left, or something failed for one. Kept until the last rank has left
};

struct Group {
  ScopeId scope;
  std::uint32_t uid = 0;
  std::uint32_t hash = 0;
  std::string name;
  std::uint64_t attempt = 0;
  std::uint64_t round = 0;  // 0 = the join, n = the n-th collective append
  GroupPhase phase = GroupPhase::kGathering;
  Error end;                                   // why, once it has ended
  std::map<std::uint32_t, GroupMember> ranks;  // of those that are there
};

class GroupTable {
 public:
  explicit GroupTable(const Secret& secret) : hash_(secret) {}

  [[nodiscard]] std::uint32_t create(ScopeId scope, std::uint32_t uid, const std::string& name,
                                     std::uint64_t attempt);
  // The one that has not ended; of each name there is at most one.
  [[nodiscard]] std::uint32_t find(ScopeId scope, std::uint32_t uid, std::string_view name) const;
  // As it was before a restart. False: the id is none, or there is one of that name.
  [[nodiscard]] bool restore(GroupId id, Group group);
  // From now on its name is free.
  void end(std::uint32_t slot, Error why);
  void erase(std::uint32_t slot);  // of an ended one without members

  [[nodiscard]] Group& at(std::uint32_t slot) { return groups_.at(slot); }
  [[nodiscard]] const Group& at(std::uint32_t slot) const { return groups_.at(slot); }
  [[nodiscard]] Group* find(GroupId id) { return groups_.find(id); }
  [[nodiscard]] GroupId id_of(std::uint32_t slot) const { return groups_.id_of(slot); }
  [[nodiscard]] std::size_t size() const { return groups_.size(); }
  [[nodiscard]] std::size_t meeting() const { return by_name_.size(); }  // those that have not ended
  [[nodiscard]] const SlotTable<Group, GroupId>& table() const { return groups_; }
  [[nodiscard]] SlotTable<Group, GroupId>& table() { return groups_; }

 private:
  [[nodiscard]] std::uint32_t hash_of(ScopeId scope, std::uint32_t uid, std::string_view name) const;

  KeyedHash hash_;
  SlotTable<Group, GroupId> groups_;
  SlotIndex by_name_;
};

}  // namespace hb::core
