// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "core/name_table.h"

namespace hb::core {

std::uint32_t NameTable::hash_of(ScopeId scope, std::uint32_t uid, std::string_view text) const {
  return hash_(KeyedHash::Input().add(scope.value).add(std::uint64_t{uid}).add(text));
}

std::uint32_t NameTable::find(ScopeId scope, std::uint32_t uid, std::string_view text) const {
  return index_.find(hash_of(scope, uid, text), [&](std::uint32_t slot) {
    const Name& name = table_.at(slot);
    return name.scope == scope && name.owner_uid == uid && name.text == text;
  });
}

std::uint32_t NameTable::take(ScopeId scope, std::uint32_t uid, const std::string& text) {
  std::uint32_t slot = find(scope, uid, text);
  if (slot == kNoSlot) {
    slot = table_.emplace();
    Name& name = table_.at(slot);
    name.text = text;
    name.scope = scope;
    name.owner_uid = uid;
    name.hash = hash_of(scope, uid, text);
    index_.insert(name.hash, slot);
  }
  ++table_.at(slot).records;
  return slot;
}

void NameTable::drop(std::uint32_t slot) {
  Name& name = table_.at(slot);
  if (--name.records != 0) return;
  index_.erase(name.hash, slot);
  table_.erase(slot);
}

}  // namespace hb::core
