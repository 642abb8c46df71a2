// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// What is to happen when: a heap whose entries can be taken out early, so that it never holds more than
// what is pending.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/ids.h"
#include "core/slot_table.h"

namespace hb::core {

struct Deadline {
  enum class Kind : std::uint8_t { kWait, kLinger, kTicket };
  Kind kind = Kind::kWait;
  std::uint32_t slot = 0;  // in the table that the kind means
};

class DeadlineQueue {
 public:
  // A ticket to erase it by.
  [[nodiscard]] std::uint32_t insert(Time at, Deadline what);
  void erase(std::uint32_t ticket);
  [[nodiscard]] Time next() const { return heap_.empty() ? kNever : entries_.at(heap_.front()).at; }
  // The earliest one not after `now`, taken out.
  [[nodiscard]] std::optional<Deadline> pop_due(Time now);
  [[nodiscard]] std::size_t size() const { return heap_.size(); }
  [[nodiscard]] bool ordered() const;

 private:
  struct Entry {
    Time at = 0;
    Deadline what;
    std::uint32_t position = 0;  // in heap_
  };
  void place(std::size_t position, std::uint32_t ticket);
  void sift_up(std::size_t position);
  void sift_down(std::size_t position);
  [[nodiscard]] Time at(std::size_t position) const { return entries_.at(heap_[position]).at; }

  SlotTable<Entry, Id<Entry>> entries_;
  std::vector<std::uint32_t> heap_;  // tickets
};

}  // namespace hb::core
