// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "exported_ranges.h"

#include <algorithm>
#include <utility>

#include "clock.h"
#include "export_record.h"

namespace hb::client {
namespace {

// Leaked when a forked child makes its own: the parent's lock may be held by a thread the child lacks.
std::atomic<ExportedRanges*> g_ranges{nullptr};

}  // namespace

bool AddressBounds::may_overlap(std::uintptr_t start, std::uint64_t bytes) const noexcept {
  if (count_.load(std::memory_order_acquire) == 0) return false;
  const std::uintptr_t low = low_.load(std::memory_order_relaxed);
  return start < high_.load(std::memory_order_relaxed) && (start >= low || low - start < bytes);
}

void AddressBounds::add(const AddressSpan& span) noexcept {
  const std::uintptr_t end = span.bytes > UINTPTR_MAX - span.start ? UINTPTR_MAX : span.start + span.bytes;
  low_.store(std::min(low_.load(std::memory_order_relaxed), span.start), std::memory_order_relaxed);
  high_.store(std::max(high_.load(std::memory_order_relaxed), end), std::memory_order_relaxed);
  count_.fetch_add(1, std::memory_order_release);
}

void AddressBounds::remove() noexcept {
  if (count_.fetch_sub(1, std::memory_order_release) != 1) return;
  low_.store(UINTPTR_MAX, std::memory_order_relaxed);
  high_.store(0, std::memory_order_relaxed);
}

struct ExportedRanges::Ticket::Entry : std::enable_shared_from_this<Entry> {
  std::vector<AddressSpan> spans;
  std::weak_ptr<ExportRecord> record;
  bool removed = false;
  bool in_making = true;
  bool memory_gone = false;
};

ExportedRanges::Ticket::Ticket(ExportedRanges* ranges, std::shared_ptr<Entry> entry)
    : ranges_(ranges), entry_(std::move(entry)) {}

ExportedRanges::Ticket& ExportedRanges::Ticket::operator=(Ticket&& other) noexcept {
  if (this == &other) return *this;
  remove();
  ranges_ = other.ranges_;
  entry_ = std::move(other.entry_);
  return *this;
}

bool ExportedRanges::Ticket::publish(const std::shared_ptr<ExportRecord>& record) {
  if (entry_ == nullptr) return true;
  const std::lock_guard guard(ranges_->lock_);
  if (entry_->memory_gone) return false;
  entry_->record = record;
  entry_->in_making = false;
  return true;
}

void ExportedRanges::Ticket::remove() noexcept {
  Entry* const entry = entry_.get();
  if (entry == nullptr || !ranges_->mark_.is_here()) return;
  // Nothing is allocated or freed under the lock: a hook that waits for it may hold the allocator's.
  Spans removed;
  const std::lock_guard guard(ranges_->lock_);
  for (const AddressSpan& span : entry->spans) {
    const auto [first, last] = ranges_->spans_.equal_range(span.start);
    const auto found = std::find_if(first, last, [&](const auto& at) {
      return at.second.second == entry && at.second.first == span.bytes;
    });
    if (entry->removed || found == last) continue;
    removed.insert(ranges_->spans_.extract(found));
    ranges_->bounds_.remove();
  }
  entry->removed = true;
  if (ranges_->spans_.empty()) ranges_->longest_ = 0;
  entry->in_making = false;
  ranges_->ended_.notify_all();
}

ExportedRanges* ExportedRanges::find() noexcept {
  ExportedRanges* const ranges = g_ranges.load(std::memory_order_acquire);
  return ranges != nullptr && ranges->mark_.is_here() ? ranges : nullptr;
}

ExportedRanges::Ticket ExportedRanges::announce(std::vector<AddressSpan> spans, ProcessMark mark) {
  std::erase_if(spans, [](const AddressSpan& span) { return span.start == 0 || span.bytes == 0; });
  if (spans.empty()) return {};
  ExportedRanges* ranges = find();
  if (ranges == nullptr) {
    const std::lock_guard guard(process_lock());
    ranges = find();
    if (ranges == nullptr) {
      ranges = new ExportedRanges(mark);  // never destroyed: exports may end in static destructors
      g_ranges.store(ranges, std::memory_order_release);
    }
  }
  auto entry = std::make_shared<Ticket::Entry>();
  entry->spans = std::move(spans);
  Spans added;
  for (const AddressSpan& span : entry->spans) added.emplace(span.start, std::pair(span.bytes, entry.get()));
  const std::lock_guard guard(ranges->lock_);
  for (const AddressSpan& span : entry->spans) {
    ranges->bounds_.add(span);
    ranges->longest_ = std::max(ranges->longest_, span.bytes);
  }
  ranges->spans_.merge(added);
  return {ranges, std::move(entry)};
}

template <class Visit>
void ExportedRanges::each(std::uintptr_t start, std::uint64_t bytes, Visit visit) {
  const std::uintptr_t first = start >= longest_ ? start - longest_ : 0;
  for (auto at = spans_.lower_bound(first); at != spans_.end(); ++at) {
    if (at->first >= start && at->first - start >= bytes) break;
    const AddressSpan span{at->first, at->second.first};
    if (span.overlaps(start, bytes)) visit(*at->second.second);
  }
}

ExportedRanges::Over ExportedRanges::collect(std::uintptr_t start, std::uint64_t bytes, bool memory_gone) {
  Over out;
  for (std::size_t room = 0;;) {
    out.records.reserve(room);
    out.in_making.reserve(room);
    const std::lock_guard guard(lock_);
    std::size_t count = 0;
    each(start, bytes, [&](const Ticket::Entry&) { ++count; });
    if (count > room) {
      room = count;
      continue;  // room is made without the lock
    }
    each(start, bytes, [&](Ticket::Entry& entry) {
      if (entry.in_making) {
        entry.memory_gone = entry.memory_gone || memory_gone;
        out.in_making.push_back(entry.shared_from_this());
      } else if (auto record = entry.record.lock()) {
        out.records.push_back(std::move(record));
      }
    });
    return out;
  }
}

bool ExportedRanges::wait_for(const Over& over, std::uint64_t deadline_ns) {
  std::unique_lock lock(lock_);
  for (const std::shared_ptr<void>& made : over.in_making) {
    const auto& entry = *static_cast<const Ticket::Entry*>(made.get());
    while (entry.in_making)
      if (ended_.wait_until(lock, time_point(deadline_ns)) == std::cv_status::timeout && entry.in_making)
        return false;
  }
  return true;
}

}  // namespace hb::client
