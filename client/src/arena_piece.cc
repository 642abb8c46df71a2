// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "arena_piece.h"

#include <algorithm>

namespace hb::client {

ArenaPiece::~ArenaPiece() {
  if (slot_.bytes != 0) arena_->return_slot(slot_);
}

void ArenaPiece::own(const FreeList::Range& slot, std::uint64_t bytes) noexcept {
  slot_ = slot;
  bytes_ = bytes;
}

std::size_t ArenaPiece::chunk_count() const { return arena_->last_of(slot_) - arena_->first_of(slot_) + 1; }

ChunkRef ArenaPiece::chunk(std::size_t index) const {
  const std::size_t block = arena_->first_of(slot_) + index;
  const std::uint64_t unit = arena_->block_bytes_;
  const std::uint64_t start = std::max(slot_.offset, block * unit);
  const std::uint64_t end = std::min(slot_.offset + bytes_, (block + 1) * unit);
  arena_->blocks_[block].spent.store(true, std::memory_order_relaxed);
  return {arena_->range_->descriptor(block), start - block * unit, end - start, unit, index};
}

Result<UniqueFd> ArenaPiece::export_chunk(std::size_t index) const {
  return arena_->range_->export_block(arena_->first_of(slot_) + index);
}

}  // namespace hb::client
