// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Acquires parked until an export of their name completes that they may read. All waits for one name stand
// in one line, first come first answered.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/keyed_hash.h"
#include "core/request.h"
#include "core/slot_index.h"
#include "core/slot_table.h"

namespace hb::core {

struct Wait {
  AcquireRequest request;
  std::uint64_t request_id = 0;
  Time deadline = kNever;
  std::uint32_t session = kNoSlot;
  std::uint32_t line = kNoSlot;
  std::uint32_t ticket = kNoSlot;  // in the deadline queue; none = waits for ever
  Links of_session;
  Links of_line;
  std::uint16_t frame_type = 0;
};

class WaitTable {
 public:
  explicit WaitTable(const Secret& secret) : hash_(secret) {}

  // At the end of the line of that name. Session list and deadline are the caller's.
  [[nodiscard]] std::uint32_t park(ScopeId scope, std::uint32_t owner_uid, const std::string& name,
                                   Wait wait);
  // Takes the wait out of its line and of the table.
  [[nodiscard]] Wait remove(std::uint32_t slot);
  // Slots of all who wait for the name, in the order they came.
  [[nodiscard]] std::vector<std::uint32_t> waiting_for(ScopeId scope, std::uint32_t owner_uid,
                                                       std::string_view name) const;

  [[nodiscard]] Wait& at(std::uint32_t slot) { return waits_.at(slot); }
  [[nodiscard]] const Wait& at(std::uint32_t slot) const { return waits_.at(slot); }
  [[nodiscard]] SlotTable<Wait, Id<Wait>>& table() { return waits_; }
  [[nodiscard]] const SlotTable<Wait, Id<Wait>>& table() const { return waits_; }
  [[nodiscard]] std::size_t size() const { return waits_.size(); }
  [[nodiscard]] std::size_t lines() const { return lines_.size(); }
  // Waits found by walking all lines.
  [[nodiscard]] std::size_t in_lines() const;

 private:
  struct Line {
    ScopeId scope;
    std::uint32_t owner_uid = 0;
    std::uint32_t hash = 0;
    std::uint32_t first = kNoSlot;
    std::uint32_t last = kNoSlot;
    std::string name;
  };
  [[nodiscard]] std::uint32_t hash_of(ScopeId scope, std::uint32_t uid, std::string_view name) const;
  [[nodiscard]] std::uint32_t find_line(std::uint32_t hash, ScopeId scope, std::uint32_t uid,
                                        std::string_view name) const;

  KeyedHash hash_;
  SlotTable<Wait, Id<Wait>> waits_;
  SlotTable<Line, Id<Line>> lines_;
  SlotIndex by_name_;
};

}  // namespace hb::core
