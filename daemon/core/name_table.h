// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// The names of exports, each in its scope and of its owner. A name outlives the exports that bore it as long
// as one of them is remembered: that is what makes generations rise.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/keyed_hash.h"
#include "core/slot_index.h"
#include "core/slot_table.h"
#include "core/types.h"

namespace hb::core {

struct Name {
  std::string text;
  ScopeId scope;
  std::uint32_t owner_uid = 0;
  std::uint32_t hash = 0;
  std::uint32_t generation = 0;     // the last one given out
  std::uint32_t current = kNoSlot;  // the export that bears it
  std::uint32_t staging = kNoSlot;  // the one that is being sent
  std::uint32_t latest = kNoSlot;   // the youngest export that bears or bore it and is remembered
  std::uint32_t held = kNoSlot;     // ended ones that are held still, the last end first; through of_session
  std::uint32_t records = 0;        // exports of every state that refer to it
};

class NameTable {
 public:
  explicit NameTable(const Secret& secret) : hash_(secret) {}

  [[nodiscard]] std::uint32_t find(ScopeId scope, std::uint32_t uid, std::string_view text) const;
  // One more record refers to it.
  [[nodiscard]] std::uint32_t take(ScopeId scope, std::uint32_t uid, const std::string& text);
  void drop(std::uint32_t slot);

  [[nodiscard]] Name& at(std::uint32_t slot) { return table_.at(slot); }
  [[nodiscard]] const Name& at(std::uint32_t slot) const { return table_.at(slot); }
  [[nodiscard]] const SlotTable<Name, Id<Name>>& table() const { return table_; }
  [[nodiscard]] std::size_t size() const { return table_.size(); }

 private:
  [[nodiscard]] std::uint32_t hash_of(ScopeId scope, std::uint32_t uid, std::string_view text) const;
  KeyedHash hash_;
  SlotTable<Name, Id<Name>> table_;
  SlotIndex index_;
};

}  // namespace hb::core
