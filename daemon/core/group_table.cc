// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "core/group_table.h"

#include <utility>

namespace hb::core {

std::uint32_t GroupTable::hash_of(ScopeId scope, std::uint32_t uid, std::string_view name) const {
  return hash_(KeyedHash::Input().add(scope.value).add(std::uint64_t{uid}).add(name));
}

std::uint32_t GroupTable::create(ScopeId scope, std::uint32_t uid, const std::string& name,
                                 std::uint64_t attempt) {
  const std::uint32_t hash = hash_of(scope, uid, name);
  const std::uint32_t slot = groups_.emplace();
  Group& group = groups_.at(slot);
  group.scope = scope;
  group.uid = uid;
  group.hash = hash;
  group.name = name;
  group.attempt = attempt;
  by_name_.insert(hash, slot);
  return slot;
}

std::uint32_t GroupTable::find(ScopeId scope, std::uint32_t uid, std::string_view name) const {
  return by_name_.find(hash_of(scope, uid, name), [&](std::uint32_t slot) {
    const Group& group = groups_.at(slot);
    return group.scope == scope && group.uid == uid && group.name == name;
  });
}

bool GroupTable::restore(GroupId id, Group group) {
  group.hash = hash_of(group.scope, group.uid, group.name);
  const bool bears_name = group.phase != GroupPhase::kEnded;
  if (bears_name && find(group.scope, group.uid, group.name) != kNoSlot) return false;
  const std::uint32_t hash = group.hash;
  if (!groups_.emplace_at(id, std::move(group))) return false;
  if (bears_name) by_name_.insert(hash, id.slot());
  return true;
}

void GroupTable::end(std::uint32_t slot, Error why) {
  Group& group = groups_.at(slot);
  by_name_.erase(group.hash, slot);
  group.phase = GroupPhase::kEnded;
  group.end = std::move(why);
}

void GroupTable::erase(std::uint32_t slot) { groups_.erase(slot); }

}  // namespace hb::core
