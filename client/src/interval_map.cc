// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "interval_map.h"

#include <mutex>
#include <utility>

#include "fork_guard.h"

namespace hb::client {

IntervalMap& IntervalMap::get() {
  static auto* map = new IntervalMap;  // never destroyed: static destructors may still close handles
  return *map;
}

std::uint64_t IntervalMap::add(Interval interval) {
  const std::lock_guard guard(process_lock());
  const std::uintptr_t start = interval.start;
  intervals_.insert_or_assign(start, Entry{std::move(interval), ++last_added_});
  return last_added_;
}

void IntervalMap::remove(const void* start, std::uint64_t added) {
  const std::lock_guard guard(process_lock());
  const auto found = intervals_.find(reinterpret_cast<std::uintptr_t>(start));
  if (found != intervals_.end() && (added == 0 || found->second.added == added)) intervals_.erase(found);
}

std::optional<Interval> IntervalMap::find(const void* address) const {
  const auto byte = reinterpret_cast<std::uintptr_t>(address);
  const std::lock_guard guard(process_lock());
  auto after = intervals_.upper_bound(byte);
  if (after == intervals_.begin()) return std::nullopt;
  const Interval& interval = std::prev(after)->second.interval;
  if (byte - interval.start >= interval.bytes) return std::nullopt;
  return interval;
}

std::optional<Interval> IntervalMap::find_in(const void* address, std::uint64_t bytes) const {
  if (auto holds = find(address)) return holds;
  const auto start = reinterpret_cast<std::uintptr_t>(address);
  const std::lock_guard guard(process_lock());
  const auto after = intervals_.upper_bound(start);
  if (after == intervals_.end() || after->first - start >= bytes) return std::nullopt;
  return after->second.interval;
}

}  // namespace hb::client
