// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Allocations: who has which part of the addresses.
#include "arena.h"

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <mutex>
#include <string>
#include <utility>

#include "arena_piece.h"
#include "hipbroker/hipbroker.h"
#include "interval_map.h"
#include "range_gone.h"
#include "wire/limits.h"

namespace hb::client {
namespace {

constexpr std::uint64_t kHostBlock = std::uint64_t{2} << 20;
constexpr std::uint64_t kLeastGpuBlock = std::uint64_t{2} << 20;

std::string hex(const void* ptr) {
  char text[32];
  std::snprintf(text, sizeof text, "%p", ptr);
  return text;
}

}  // namespace

Result<std::shared_ptr<Arena>> Arena::create(std::uint32_t provider_number, const AllocateRequest& request,
                                             std::uint64_t keep_bytes, ProcessMark mark) {
  Provider* const maker = provider(provider_number);
  if (maker == nullptr)
    return fail(HB_UNSUPPORTED, "this build has no provider number " + std::to_string(provider_number));
  if (request.bytes == 0) return fail(HB_INVALID, "reserve_bytes is 0; at least 1 byte is reserved");
  AllocateRequest asked = request;
  if (asked.chunk_bytes == 0 && provider_number == HB_PROVIDER_HOST) asked.chunk_bytes = kHostBlock;
  const std::uint64_t most = limits::kExportBytes;
  if (asked.bytes > most || asked.chunk_bytes > most) {
    const bool whole = asked.bytes > most;
    const std::uint64_t bytes = whole ? asked.bytes : asked.chunk_bytes;
    const std::string name = whole ? "reserve_bytes" : "block_bytes";
    return fail(limit_error(HB_RANGE, name, bytes, most,
                            name + " is " + std::to_string(bytes) + "; an export holds at most " +
                                std::to_string(most) + " bytes, and an arena no more than one"));
  }
  // As far as a GPU's granularity may round it up.
  const std::uint64_t block =
      provider_number == HB_PROVIDER_HOST ? asked.chunk_bytes : std::max(asked.chunk_bytes, kLeastGpuBlock);
  if ((asked.bytes - 1) / block >= limits::kExportChunks)
    return fail(limit_error(HB_RANGE, "block_bytes", block, limits::kExportChunks,
                            std::to_string(asked.bytes) + " bytes in blocks of " + std::to_string(block) +
                                " are more than " + std::to_string(limits::kExportChunks) +
                                " blocks: use larger ones"));
  auto range = maker->reserve(asked);
  if (!range) return tl::unexpected(std::move(range.error()));
  return std::make_shared<Arena>(std::move(*range), keep_bytes, mark);
}

Arena::Arena(std::unique_ptr<BlockRange> range, std::uint64_t keep_bytes, ProcessMark mark)
    : range_(std::move(range)),
      block_bytes_(range_->block_bytes()),
      reserved_(block_bytes_ * range_->block_count()),
      keep_bytes_(keep_bytes),
      mark_(mark),
      free_list_(reserved_, kGranule, reinterpret_cast<std::uintptr_t>(range_->base())),
      blocks_(range_->block_count()) {
  IntervalMap::get().add_reserved(range_->base(), reserved_);
}

Arena::~Arena() {
  IntervalMap::get().remove_reserved(range_->base());
  if (!mark_.is_here()) range_->forget();
}

Result<void*> Arena::allocate(std::uint64_t bytes, std::uint64_t alignment) {
  if (bytes == 0) return fail(HB_INVALID, "bytes is 0; at least 1 byte is allocated");
  if (alignment == 0) alignment = kGranule;
  if ((alignment & (alignment - 1)) != 0)
    return fail(HB_INVALID, "alignment is " + std::to_string(alignment) + " and no power of two");
  auto piece = std::make_unique<ArenaPiece>(shared_from_this());
  const auto slot = take_slot(bytes, alignment);
  if (!slot) return tl::unexpected(slot.error());
  piece->own(*slot, bytes);
  if (auto held = hold(*slot); !held) return tl::unexpected(std::move(held.error()));
  void* const ptr = piece->ptr();
  auto memory = Memory::of(std::move(piece), mark_);
  const std::lock_guard guard(process_lock());
  allocations_.emplace(slot->offset, std::move(memory));
  return ptr;
}

Result<Arena::Slot> Arena::take_slot(std::uint64_t bytes, std::uint64_t alignment) {
  for (;;) {
    std::uint32_t seen = 0;
    {
      const std::lock_guard guard(process_lock());
      if (const auto slot = free_list_.allocate(bytes, alignment)) {
        for (std::size_t i = first_of(*slot); i <= last_of(*slot); ++i)
          if (blocks_[i].users++ == 0 && blocks_[i].state == State::kMapped) --kept_;
        return *slot;
      }
      // What is being given back just now may be what is missing.
      if (withheld_ == 0 || bytes > reserved_) return fail(no_room(bytes, alignment));
      seen = changes_.load();
    }
    changes_.wait(seen);
  }
}

Error Arena::no_room(std::uint64_t bytes, std::uint64_t alignment) const {
  const std::uint64_t largest = free_list_.largest();
  std::string message = std::to_string(bytes) + " bytes at a multiple of " + std::to_string(alignment) +
                        " asked for; the largest free range of the arena has " + std::to_string(largest) +
                        " of its " + std::to_string(reserved_) +
                        " reserved bytes: free some, or make a larger arena";
  return limit_error(HB_NO_MEMORY, "arena", bytes, largest, std::move(message));
}

Result<void> Arena::free(const void* ptr) {
  const std::uint64_t offset =
      reinterpret_cast<std::uintptr_t>(ptr) - reinterpret_cast<std::uintptr_t>(range_->base());
  std::shared_ptr<Memory> memory;
  {
    const std::lock_guard guard(process_lock());
    const auto found = offset < reserved_ ? allocations_.find(offset) : allocations_.end();
    if (found == allocations_.end()) return fail(not_a_start(offset, ptr));
    memory = std::move(found->second);
    allocations_.erase(found);
  }
  // From here on no export of it begins; one that has begun is known, and is waited for.
  IntervalMap::get().remove(ptr);
  const std::uint64_t bytes = memory->allocation().bytes();
  if (nothing_known_of(ptr, bytes)) return {};
  auto ended = range_gone(ptr, bytes);
  if (ended) return {};
  ended.error().message += "; the memory was freed all the same";
  return tl::unexpected(std::move(ended.error()));
}

Error Arena::not_a_start(std::uint64_t offset, const void* ptr) const {
  Error error;
  error.status = HB_INVALID;
  error.message = hex(ptr) + " is not what hb_arena_alloc gave: ";
  const auto after = allocations_.upper_bound(offset);
  if (offset >= reserved_) {
    error.message += "it lies outside of this arena's " + std::to_string(reserved_) + " bytes from " +
                     hex(range_->base()) + " on";
    return error;
  }
  if (after != allocations_.begin()) {
    const auto& [start, memory] = *std::prev(after);
    if (offset - start < memory->allocation().bytes()) {
      error.message += "it lies " + std::to_string(offset - start) + " bytes inside the allocation at " +
                       hex(memory->allocation().ptr());
      return error;
    }
  }
  error.message += "nothing is allocated there, or not any more";
  return error;
}

void Arena::close() {
  std::map<std::uint64_t, std::shared_ptr<Memory>> all;
  {
    const std::lock_guard guard(process_lock());
    all.swap(allocations_);
  }
  all.clear();
}

Arena::Info Arena::info() const {
  Info out;
  out.base = range_->base();
  out.reserved = reserved_;
  out.block_bytes = block_bytes_;
  const std::lock_guard guard(process_lock());
  out.mapped = mapped_ * block_bytes_;
  out.used = free_list_.used() - (withheld_ + lost_) * block_bytes_;
  out.largest_free = free_list_.largest();
  out.allocations = allocations_.size();
  out.lost = lost_ * block_bytes_;
  return out;
}

}  // namespace hb::client
