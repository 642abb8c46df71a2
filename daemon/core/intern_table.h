// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Values many exports have in common (ACLs, placements), each kept once and counted. Number 0 is the empty
// value.
#pragma once

#include <cstdint>
#include <utility>

#include "core/keyed_hash.h"
#include "core/slot_index.h"
#include "core/slot_table.h"

namespace hb::core {

template <class T>
class InternTable {
 public:
  explicit InternTable(const Secret& secret) : hash_(secret) {}

  [[nodiscard]] std::uint32_t take(const T& value) {
    if (value == empty_) return 0;
    const std::uint32_t hash = hash_(input_of(value));
    std::uint32_t slot = index_.find(hash, [&](std::uint32_t s) { return entries_.at(s).value == value; });
    if (slot == kNoSlot) {
      slot = entries_.emplace(Entry{value, hash, 0});
      index_.insert(hash, slot);
    }
    ++entries_.at(slot).references;
    return slot + 1;
  }
  void drop(std::uint32_t number) {
    if (number == 0) return;
    Entry& entry = entries_.at(number - 1);
    if (--entry.references != 0) return;
    index_.erase(entry.hash, number - 1);
    entries_.erase(number - 1);
  }
  [[nodiscard]] const T& at(std::uint32_t number) const {
    return number == 0 ? empty_ : entries_.at(number - 1).value;
  }
  [[nodiscard]] std::uint64_t references() const {
    std::uint64_t sum = 0;
    for (std::uint32_t slot = 0; slot < entries_.slots(); ++slot)
      if (entries_.live(slot)) sum += entries_.at(slot).references;
    return sum;
  }

 private:
  struct Entry {
    T value;
    std::uint32_t hash = 0;
    std::uint64_t references = 0;
  };
  KeyedHash hash_;
  T empty_{};
  SlotTable<Entry, Id<struct InternTag>> entries_;
  SlotIndex index_;
};

}  // namespace hb::core
