// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Blocks of GPU memory, mapped and unmapped in any order: one allocation of the driver's each.
//
// Where the runtime can, all of them lie in one reservation. Some runtimes grant access only from a
// reservation's first mapping on, so that none may be missing before another; 7.2 keeps what is unmapped
// as long as its addresses are reserved. There every block is a reservation of its own, side by side with
// the others; where it pins, it is freed and made again at the same address for its memory to return.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "providers/block_range.h"
#include "providers/hip/mapped_range.h"

namespace hb::client::hip {

struct BlockSpec {
  std::uint64_t bytes = 0;        // rounded up to whole blocks
  std::uint64_t block_bytes = 0;  // rounded up to the granularity; 0: one granule
  Access access;                  // access.owner is the device, whatever is current
};

class Blocks final : public BlockRange {
 public:
  [[nodiscard]] static Result<std::unique_ptr<Blocks>> reserve(const ContextPtr& context,
                                                               const BlockSpec& spec);
  // Never inside a DriverScope, as MappedRange's.
  ~Blocks() override;

  [[nodiscard]] char* base() const override { return base_; }
  [[nodiscard]] std::uint64_t block_bytes() const override { return block_bytes_; }
  [[nodiscard]] std::size_t block_count() const override { return blocks_.size(); }
  [[nodiscard]] Result<void> check_room(std::uint64_t blocks, const std::string& doing) const override;
  [[nodiscard]] Result<void> map_block(std::size_t index) override;
  [[nodiscard]] bool unmap_block(std::size_t index) noexcept override;
  [[nodiscard]] BorrowedFd descriptor(std::size_t) const override { return {}; }
  [[nodiscard]] Result<UniqueFd> export_block(std::size_t index) override;
  [[nodiscard]] std::uint32_t handle_kind() const override { return kind_.load(std::memory_order_relaxed); }
  [[nodiscard]] const DeviceId& device() const override;
  [[nodiscard]] int ordinal() const override { return access_.owner; }
  [[nodiscard]] std::vector<PeerGrant> peers() const override;
  [[nodiscard]] bool host_granted() const override { return host_.load() == Host::kIn; }
  [[nodiscard]] bool gives_back() const override;
  void forget() noexcept override;

 private:
  struct Block {
    std::optional<OwnedHandle> handle;
    bool reserved = false;  // by itself
  };
  enum class Host : unsigned char { kUnknown, kIn, kOut };

  Blocks(ContextPtr context, Access access, std::uint64_t block_bytes, std::size_t count);
  [[nodiscard]] char* at(std::size_t index) const { return base_ + index * block_bytes_; }
  // Inside a DriverScope:
  [[nodiscard]] Result<void> reserve_each(std::size_t alignment);
  [[nodiscard]] Result<void> reserve_one(std::size_t index);
  [[nodiscard]] Result<void> map_inside(std::size_t index, bool& is_mapped);
  [[nodiscard]] Result<void> let_in(std::size_t index, const std::string& doing);
  // Outside of one: hipMemUnmap may wait for streams.
  [[nodiscard]] bool take_down(std::size_t index, bool is_mapped);

  ContextPtr context_;
  Access access_;
  std::uint64_t block_bytes_;
  std::vector<Block> blocks_;
  std::unique_ptr<MappedRange> whole_;  // the one reservation; nullptr: each its own
  char* base_ = nullptr;
  pid_t process_;
  std::atomic<Host> host_{Host::kUnknown};
  std::atomic<std::uint32_t> kind_{0};
};

}  // namespace hb::client::hip
