// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Addresses reserved once, handed out in pieces; memory comes and goes block by block below them. A piece is
// a Memory as any other: exports, aliases and questions about pointers know no difference.
//
// Its book is kept under process_lock(), so that a forked child finds it whole. No driver call is made under
// it: a block that is being made, or given back, belongs to the one thread that does so.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "error.h"
#include "fork_guard.h"
#include "free_list.h"
#include "memory.h"
#include "providers/block_range.h"
#include "providers/provider.h"

namespace hb::client {

class Arena : public std::enable_shared_from_this<Arena> {
 public:
  // Offsets and sizes are multiples of it; what hipMalloc aligns to.
  static constexpr std::uint64_t kGranule = 256;

  // request.bytes of addresses in blocks of request.chunk_bytes. Up to `keep_bytes` of wholly free blocks
  // stay mapped.
  [[nodiscard]] static Result<std::shared_ptr<Arena>> create(std::uint32_t provider_number,
                                                             const AllocateRequest& request,
                                                             std::uint64_t keep_bytes, ProcessMark mark);
  Arena(std::unique_ptr<BlockRange> range, std::uint64_t keep_bytes, ProcessMark mark);
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  // `alignment`: a power of two. All of it or nothing.
  [[nodiscard]] Result<void*> allocate(std::uint64_t bytes, std::uint64_t alignment);
  // HB_INVALID: no allocation begins there. Ends every export over it first; an error of that is told, and
  // the memory is free all the same.
  [[nodiscard]] Result<void> free(const void* ptr);
  // Gives every wholly free block back.
  void trim();
  // Everything is freed; the arena goes with the last alias of what was exported.
  void close();

  struct Info {
    void* base = nullptr;
    std::uint64_t reserved = 0;
    std::uint64_t block_bytes = 0;
    std::uint64_t mapped = 0;  // bytes
    std::uint64_t used = 0;
    std::uint64_t largest_free = 0;
    std::uint64_t allocations = 0;
    std::uint64_t lost = 0;  // bytes of addresses that another mapping took
  };
  [[nodiscard]] Info info() const;
  [[nodiscard]] const BlockRange& range() const { return *range_; }
  // False in a forked child.
  [[nodiscard]] bool is_here() const noexcept { return mark_.is_here(); }

 private:
  friend class ArenaPiece;
  using Slot = FreeList::Range;

  enum class State : std::uint8_t { kEmpty, kBeingMade, kMapped, kLeaving, kBeingGivenBack };
  struct Block {
    State state = State::kEmpty;
    std::uint32_t users = 0;  // allocations with a byte in it, made or in the making
    // Somebody outside may hold it, or it came of what failed: given back as soon as it is wholly free, so
    // that nobody reads what is placed in it next.
    std::atomic<bool> spent{false};
  };

  [[nodiscard]] std::size_t first_of(const Slot& slot) const { return slot.offset / block_bytes_; }
  [[nodiscard]] std::size_t last_of(const Slot& slot) const {
    return (slot.offset + slot.bytes - 1) / block_bytes_;
  }
  [[nodiscard]] Slot slot_of(std::size_t block) const { return {block * block_bytes_, block_bytes_}; }

  [[nodiscard]] Result<Slot> take_slot(std::uint64_t bytes, std::uint64_t alignment);
  // Every block of the slot is mapped, or those that were made for it are not any more once it is returned.
  [[nodiscard]] Result<void> hold(const Slot& slot);
  [[nodiscard]] Result<bool> make_block(std::size_t index);  // false: another thread had made it
  void return_slot(const Slot& slot) noexcept;
  // Under the lock: takes a wholly free block out of the free list to give it back.
  [[nodiscard]] bool withhold(std::size_t index) noexcept;
  // Without it: those of [first, last] that are leaving, each by the thread that comes first.
  void give_back(std::size_t first, std::size_t last) noexcept;
  void tell_change() noexcept;
  [[nodiscard]] Error no_room(std::uint64_t bytes, std::uint64_t alignment) const;
  [[nodiscard]] Error not_a_start(std::uint64_t offset, const void* ptr) const;

  const std::unique_ptr<BlockRange> range_;
  const std::uint64_t block_bytes_;
  const std::uint64_t reserved_;
  const std::uint64_t keep_bytes_;
  const ProcessMark mark_;

  // Under process_lock():
  FreeList free_list_;
  std::vector<Block> blocks_;
  std::map<std::uint64_t, std::shared_ptr<Memory>> allocations_;  // by offset
  std::uint64_t mapped_ = 0;                                      // blocks
  std::uint64_t kept_ = 0;                                        // blocks that are mapped and wholly free
  std::uint64_t withheld_ = 0;                                    // blocks being given back
  std::uint64_t lost_ = 0;                                        // blocks

  // Counts changes that a thread may wait for. No condition variable: a forked child could not destroy one
  // that somebody waited on.
  std::atomic<std::uint32_t> changes_{0};
};

}  // namespace hb::client
