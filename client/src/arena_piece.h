// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// An allocation out of an arena: the blocks that it touches, the first and the last cut to it.
#pragma once

#include <memory>
#include <vector>

#include "arena.h"
#include "providers/provider.h"

namespace hb::client {

class ArenaPiece final : public Allocation {
 public:
  // Owns nothing yet: what can fail for want of memory is done before a slot is taken.
  explicit ArenaPiece(std::shared_ptr<Arena> arena) : arena_(std::move(arena)) {}
  ~ArenaPiece() override;

  // Takes a slot over, whose blocks may not be mapped yet. `bytes`: asked for.
  void own(const FreeList::Range& slot, std::uint64_t bytes) noexcept;

  [[nodiscard]] void* ptr() const override { return arena_->range().base() + slot_.offset; }
  [[nodiscard]] std::uint64_t bytes() const override { return bytes_; }
  [[nodiscard]] std::uint64_t chunk_bytes() const override { return 0; }
  [[nodiscard]] std::size_t chunk_count() const override;
  [[nodiscard]] ChunkRef chunk(std::size_t index) const override;
  [[nodiscard]] Result<UniqueFd> export_chunk(std::size_t index) const override;
  [[nodiscard]] std::uint32_t handle_kind() const override { return arena_->range().handle_kind(); }
  [[nodiscard]] const DeviceId& device() const override { return arena_->range().device(); }
  [[nodiscard]] int ordinal() const override { return arena_->range().ordinal(); }
  [[nodiscard]] std::vector<PeerGrant> peers() const override { return arena_->range().peers(); }
  [[nodiscard]] bool host_granted() const override { return arena_->range().host_granted(); }
  // The arena knows whose process it is.
  void forget_descriptors() noexcept override {}

 private:
  std::shared_ptr<Arena> arena_;
  FreeList::Range slot_;
  std::uint64_t bytes_ = 0;
};

}  // namespace hb::client
