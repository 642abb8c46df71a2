// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Requests that are answered later. Acquires wait until an export of their name completes that they may read,
// all those for one name in one line, first come first answered; others wait for what becomes of an export or
// a group.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/keyed_hash.h"
#include "core/request.h"
#include "core/slot_index.h"
#include "core/slot_table.h"

namespace hb::core {

// For the leases of an export to go, or for its holders to unmap.
struct DrainWait {
  std::uint32_t exported = kNoSlot;
  bool unmapped = false;
  std::uint64_t exports = 0;  // how many the request ended
};

// For a step to be published.
struct StepWait {
  std::uint32_t exported = kNoSlot;
  LeaseId lease;
  std::uint64_t step = 0;
};

// For every lease to acknowledge a step.
struct AcksWait {
  std::uint32_t exported = kNoSlot;
  std::uint64_t step = 0;
  std::uint64_t missing = 0;  // leases that have not
};

// For the other ranks of a group. Its member's record says for what.
struct MemberWait {
  GroupId group;
  std::uint32_t rank = 0;
};

struct Wait {
  std::variant<AcquireRequest, DrainWait, StepWait, AcksWait, MemberWait> what;
  std::uint64_t request_id = 0;
  Time deadline = kNever;
  std::uint32_t session = kNoSlot;
  std::uint32_t line = kNoSlot;
  std::uint32_t ticket = kNoSlot;  // in the deadline queue; none = waits for ever
  Links of_session;
  Links of_line;  // a line of the same name; of DrainWait, StepWait and AcksWait: the list of their export
  std::uint16_t frame_type = 0;
  bool mutating = true;  // the answer is remembered

  [[nodiscard]] const AcquireRequest* acquire() const { return std::get_if<AcquireRequest>(&what); }
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
