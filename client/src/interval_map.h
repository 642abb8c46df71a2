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

#include "providers/placement.h"

namespace hb::client {

class Memory;

enum class Origin : std::uint8_t { kAllocated, kImported };

// Whose an import is, and what may reach it here.
struct ImportOrigin {
  std::uint64_t export_id = 0;
  std::uint32_t generation = 0;
  std::uint32_t owner_uid = 0;
  bool host_granted = false;
  DeviceId device;  // empty: host memory
};

struct Interval {
  std::uintptr_t start = 0;
  std::uint64_t bytes = 0;
  Origin origin = Origin::kAllocated;
  std::weak_ptr<Memory> memory;              // with kAllocated
  std::shared_ptr<const ImportOrigin> from;  // with kImported
};

// One a process, under process_lock().
class IntervalMap {
 public:
  [[nodiscard]] static IntervalMap& get();
  // What to remove it by.
  std::uint64_t add(Interval interval);
  // Addresses given up while memory sleeps may be another's by now, and so may the entry: with what add()
  // answered only one's own is removed, with 0 whichever is there.
  void remove(const void* start, std::uint64_t added = 0);
  // The interval that holds this byte.
  [[nodiscard]] std::optional<Interval> find(const void* address) const;
  // The first one that has any byte of the range.
  [[nodiscard]] std::optional<Interval> find_in(const void* address, std::uint64_t bytes) const;

 private:
  struct Entry {
    Interval interval;
    std::uint64_t added;
  };
  std::map<std::uintptr_t, Entry> intervals_;  // by start; never overlapping, but for memory that sleeps
  std::uint64_t last_added_ = 0;
};

}  // namespace hb::client
