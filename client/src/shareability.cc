// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "shareability.h"

#include <atomic>
#include <iterator>
#include <utility>

namespace hb::client {
namespace {

// A program that never tells of its frees must not make this grow.
constexpr std::size_t kMost = 4096;

std::atomic<Shareability*> g_shareability{nullptr};

}  // namespace

Shareability* Shareability::existing() noexcept {
  Shareability* const known = g_shareability.load(std::memory_order_acquire);
  return known != nullptr && known->mark_.is_here() ? known : nullptr;
}

Shareability& Shareability::get(ProcessMark mark) {
  if (Shareability* const known = existing(); known != nullptr) return *known;
  const std::lock_guard guard(process_lock());
  if (Shareability* const known = existing(); known != nullptr) return *known;
  auto* made = new Shareability(mark);  // never destroyed: hooks run until the process is gone
  g_shareability.store(made, std::memory_order_release);
  return *made;
}

bool Shareability::may_know(std::uintptr_t start, std::uint64_t bytes) noexcept {
  const Shareability* const known = existing();
  return known != nullptr && known->bounds_.may_overlap(start, bytes);
}

void Shareability::forget(std::uintptr_t start, std::uint64_t bytes) {
  if (may_know(start, bytes)) existing()->drop(start, bytes);
}

void Shareability::drop(std::uintptr_t start, std::uint64_t bytes) {
  Table dropped;
  const std::lock_guard guard(lock_);
  auto at = known_.upper_bound(start);
  if (at != known_.begin()) --at;
  while (at != known_.end() && (at->first < start || at->first - start < bytes)) {
    const AddressSpan span{at->first, at->second.memory.bytes};
    if (!span.overlaps(start, bytes)) {
      ++at;
      continue;
    }
    dropped.insert(known_.extract(at++));
    bounds_.remove();
  }
}

std::optional<Shareability::Answer> Shareability::find(const MemoryIdentity& memory) const {
  const std::lock_guard guard(lock_);
  const auto found = known_.find(memory.base);
  if (found == known_.end() || !(found->second.memory == memory)) return std::nullopt;
  return found->second.answer;
}

void Shareability::remember(const MemoryIdentity& memory, Answer answer) {
  drop(memory.base, memory.bytes);  // whatever was there before is gone
  Table added;
  added.emplace(memory.base, Known{memory, std::move(answer)});
  Table dropped;
  const std::lock_guard guard(lock_);
  for (; known_.size() >= kMost; bounds_.remove()) dropped.insert(known_.extract(known_.begin()));
  if (known_.contains(memory.base)) return;  // another thread was faster
  bounds_.add({memory.base, memory.bytes});
  known_.merge(added);
}

}  // namespace hb::client
