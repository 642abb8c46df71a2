// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Address ranges of this process that the library made, and where they came from: which memory may be
// exported, and which came from another process and must not be. An alias has no entry of its own: it is
// the owner's range.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>

namespace hb::client {

class Memory;

enum class Origin : std::uint8_t { kAllocated, kImported };

struct Interval {
  std::uintptr_t start = 0;
  std::uint64_t bytes = 0;
  Origin origin = Origin::kAllocated;
  std::weak_ptr<Memory> memory;  // with kAllocated
};

// One a process, under process_lock().
class IntervalMap {
 public:
  [[nodiscard]] static IntervalMap& get();
  void add(Interval interval);
  void remove(const void* start);
  // The interval that holds this byte.
  [[nodiscard]] std::optional<Interval> find(const void* address) const;

 private:
  std::map<std::uintptr_t, Interval> intervals_;  // by start; never overlapping
};

}  // namespace hb::client
