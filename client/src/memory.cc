// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "memory.h"

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
  Interval interval;
  interval.start = reinterpret_cast<std::uintptr_t>(memory->allocation().ptr());
  interval.bytes = memory->allocation().bytes();
  interval.memory = memory;
  IntervalMap::get().add(std::move(interval));
  return memory;
}

Memory::Memory(std::unique_ptr<Allocation> allocation, ProcessMark mark)
    : allocation_(std::move(allocation)), mark_(mark) {}

Memory::~Memory() {
  // Before the addresses are free for others.
  IntervalMap::get().remove(allocation_->ptr());
  if (!mark_.is_here()) allocation_->forget_descriptors();
}

}  // namespace hb::client
