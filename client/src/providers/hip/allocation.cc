// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "providers/hip/allocation.h"

#include <atomic>
#include <utility>

#include "handle_kind.h"
#include "hipbroker/hipbroker.h"
#include "providers/chunk_sizes.h"

namespace hb::client::hip {
namespace {

class HipAllocation final : public Allocation {
 public:
  HipAllocation(Known known, std::unique_ptr<MappedRange> range, std::uint64_t chunk_bytes)
      : known_(std::move(known)), range_(std::move(range)) {
    const std::uint64_t unit = range_->alignment();
    growth_ = (chunk_bytes + unit - 1) / unit * unit;
    std::vector<std::uint64_t> sizes;
    for (std::size_t i = 0; i < range_->size(); ++i) sizes.push_back(range_->chunk_bytes(i));
    sizes_.add(sizes);
  }

  [[nodiscard]] void* ptr() const override { return range_->base(); }
  [[nodiscard]] std::uint64_t bytes() const override { return sizes_.sum(); }
  [[nodiscard]] std::uint64_t chunk_bytes() const override { return sizes_.step(); }
  [[nodiscard]] std::size_t chunk_count() const override { return sizes_.count(); }
  [[nodiscard]] ChunkRef chunk(std::size_t index) const override {
    const std::uint64_t bytes = sizes_.of(index);
    return {{}, 0, bytes, bytes, index};
  }
  [[nodiscard]] Result<UniqueFd> export_chunk(std::size_t index) const override {
    auto made = hip::export_chunk(*known_.context, *range_, index);
    if (made && kind_.load(std::memory_order_relaxed) == 0)
      kind_.store(kind_of(*made), std::memory_order_relaxed);
    return made;
  }
  [[nodiscard]] std::uint32_t handle_kind() const override { return kind_.load(std::memory_order_relaxed); }
  [[nodiscard]] const DeviceId& device() const override { return known_.device.id; }
  [[nodiscard]] int ordinal() const override { return known_.device.ordinal; }
  [[nodiscard]] std::vector<PeerGrant> peers() const override {
    return peer_grants(known_.context->devices, {}, range_->access());
  }
  [[nodiscard]] bool host_granted() const override { return range_->host_granted(); }
  // The range knows whose process it is.
  void forget_descriptors() noexcept override {}

  [[nodiscard]] std::uint64_t reserved_bytes() const override { return range_->reserved_bytes(); }
  [[nodiscard]] Result<void> grow(std::uint64_t bytes) override {
    if (auto able = check_growth(bytes, growth_ == 0 ? range_->alignment() : growth_); !able) return able;
    const auto more = ChunkSizes::of_growth(bytes, growth_, range_->alignment());
    if (auto grown = extend(known_.context, *range_, more); !grown) return grown;
    sizes_.add(more);
    return {};
  }
  void sleep() noexcept override {
    asleep_.store(true, std::memory_order_relaxed);
    range_->sleep();
  }
  [[nodiscard]] Result<void> wake() override {
    if (!asleep()) return {};
    if (!range_->is_here())
      return fail(HB_FORKED, "this memory is of the parent process, which alone wakes it");
    if (auto held = range_->wake(); !held) return held;
    if (auto filled = extend(known_.context, *range_, sizes_.all()); !filled) {
      range_->sleep();
      return filled;
    }
    asleep_.store(false, std::memory_order_relaxed);
    return {};
  }
  [[nodiscard]] bool asleep() const override { return asleep_.load(std::memory_order_relaxed); }

 private:
  Known known_;
  std::unique_ptr<MappedRange> range_;
  std::uint64_t growth_ = 0;  // of a chunk that is added; 0 = whatever is asked for
  ChunkSizes sizes_;
  std::atomic<bool> asleep_{false};
  mutable std::atomic<std::uint32_t> kind_{0};
};

}  // namespace

Result<std::unique_ptr<Allocation>> allocate_on(Known known, AllocateSpec spec) {
  const std::uint64_t chunk_bytes = spec.chunk_bytes;
  auto range = hip::allocate(known.context, spec);
  if (!range) return tl::unexpected(std::move(range.error()));
  return std::make_unique<HipAllocation>(std::move(known), std::move(*range), chunk_bytes);
}

}  // namespace hb::client::hip
