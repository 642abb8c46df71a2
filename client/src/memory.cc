// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "memory.h"

#include "export_record.h"
#include "exported_ranges.h"
#include "hipbroker/hipbroker.h"
#include "interval_map.h"

namespace hb::client {

Result<std::shared_ptr<Memory>> Memory::create(std::uint32_t provider_number, const AllocateRequest& request,
                                               ProcessMark mark) {
  Provider* const maker = provider(provider_number);
  if (maker == nullptr)
    return fail(HB_UNSUPPORTED, "this build has no provider number " + std::to_string(provider_number));
  auto allocation = maker->allocate(request);
  if (!allocation) return tl::unexpected(std::move(allocation.error()));
  return of(std::move(*allocation), mark);
}

std::shared_ptr<Memory> Memory::of(std::unique_ptr<Allocation> allocation, ProcessMark mark) {
  auto memory = std::make_shared<Memory>(std::move(allocation), mark);
  memory->show();
  return memory;
}

void Memory::show() {
  Interval interval;
  interval.start = reinterpret_cast<std::uintptr_t>(allocation_->ptr());
  interval.bytes = allocation_->reserved_bytes();
  interval.memory = weak_from_this();
  interval_ = IntervalMap::get().add(std::move(interval));
}

Memory::Memory(std::unique_ptr<Allocation> allocation, ProcessMark mark)
    : allocation_(std::move(allocation)), mark_(mark) {}

Memory::~Memory() {
  // Before the addresses are free for others.
  IntervalMap::get().remove(allocation_->ptr(), interval_);
  if (!mark_.is_here()) allocation_->forget_descriptors();
}

Result<void> Memory::check_here() const {
  // Before the lock, which a thread of the parent may have held for ever.
  if (is_here()) return {};
  return fail(HB_FORKED, "the memory belongs to the parent process, which alone changes it");
}

Result<void> Memory::check_exports() const {
  ExportedRanges* const ranges = ExportedRanges::find();
  if (ranges == nullptr) return {};
  const auto over =
      ranges->look(reinterpret_cast<std::uintptr_t>(allocation_->ptr()), allocation_->reserved_bytes());
  for (const auto& record : over.records) {
    if (!record->is_live() || record->suspended.load() || !record->uses(*this)) continue;
    Error error;
    error.status = HB_BUSY;
    error.what = "export " + std::to_string(record->id);
    error.message = error.what + (record->name.empty() ? "" : " (" + record->name + ")") +
                    " of this memory is alive: suspend or withdraw it before the memory sleeps";
    return fail(std::move(error));
  }
  if (!over.in_making.empty())
    return fail(HB_BUSY,
                "another thread is exporting this memory just now; suspend or withdraw that export first");
  return {};
}

Result<void> Memory::grow(std::uint64_t bytes) {
  if (auto here = check_here(); !here) return here;
  const std::lock_guard guard(change_);
  return allocation_->grow(bytes);
}

Result<void> Memory::sleep() {
  if (auto here = check_here(); !here) return here;
  const std::lock_guard guard(change_);
  if (asleep_.exchange(true)) return {};
  if (auto unread = check_exports(); !unread) {
    asleep_.store(false);
    return unread;
  }
  allocation_->sleep();
  return {};
}

Result<void> Memory::wake() {
  if (auto here = check_here(); !here) return here;
  const std::lock_guard guard(change_);
  if (!asleep_.load()) return {};
  if (auto awake = allocation_->wake(); !awake) return awake;
  show();  // others may have been at its addresses meanwhile, and in its place there
  asleep_.store(false);
  return {};
}

}  // namespace hb::client
