// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// One reservation of addresses, filled from its start with whole allocations: what both own and imported
// memory are. It grows, loses and changes allocations in place, and sleeps with none.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "error.h"
#include "providers/hip/access.h"
#include "providers/hip/owned_handle.h"

namespace hb::client::hip {

inline constexpr std::size_t kLargePage = std::size_t{2} << 20;

// What changes it comes from one thread at a time. Its list of allocations changes under the vmm lock alone,
// so that exports of what is there go on meanwhile.
class MappedRange {
 public:
  struct Wish {
    std::size_t bytes = 0;      // a multiple of the granularity
    std::size_t alignment = 0;  // of the first byte; a power of two
    void* address = nullptr;    // HB_ADDRESS when the runtime gives another
  };
  // Addresses alone. Inside a DriverScope.
  [[nodiscard]] static Result<std::unique_ptr<MappedRange>> reserve(ContextPtr context, const Access& access,
                                                                    const Wish& wish);
  // Unmaps each mapping by its size, frees the addresses, releases the handles. Never inside a DriverScope:
  // newer runtimes wait for streams in hipMemUnmap, and no lock may be held meanwhile. Does nothing in a
  // forked child and while the process exits.
  ~MappedRange();
  MappedRange(const MappedRange&) = delete;
  MappedRange& operator=(const MappedRange&) = delete;

  // Maps the whole of an allocation behind what is mapped already and lets the devices in. Inside a
  // DriverScope. After an error everything is as before but for what settle() gives back.
  [[nodiscard]] Result<void> add(OwnedHandle handle, std::size_t bytes, std::int64_t chunk);

  // As destruction, these are never called inside a DriverScope:
  // Gives back what an add() that failed has left: unmapping may wait, and add() is inside a scope.
  void settle() noexcept;
  // Another allocation of the same size in the place of one. No runtime does it in one step: for a moment
  // nothing is mapped there. After an error the old one is mapped again; where even that fails the error says
  // so, it counts as a teardown failure, and a later replace() of that chunk may fill the gap.
  // What was there is kept: undo_replaced() maps it again, keep_replaced() lets it go.
  [[nodiscard]] Result<void> replace(std::size_t index, OwnedHandle handle, std::int64_t chunk);
  void undo_replaced() noexcept;
  void keep_replaced() noexcept;
  // Keeps the first `count` allocations.
  void cut(std::size_t count) noexcept;
  // Keeps none, and where addresses alone would pin the memory not even those.
  void sleep() noexcept;
  // Makes sure that the addresses are held again; HB_ADDRESS when they are another's. What the CPU reached
  // before has to be granted to it again.
  [[nodiscard]] Result<void> wake();
  [[nodiscard]] bool asleep() const { return asleep_; }

  // False in a forked child, where nothing of it can be used but the mapping, and no call may be made.
  [[nodiscard]] bool is_here() const;

  [[nodiscard]] char* base() const { return base_; }
  [[nodiscard]] std::size_t mapped_bytes() const { return mapped_; }
  [[nodiscard]] std::size_t reserved_bytes() const { return usable_; }
  [[nodiscard]] std::size_t alignment() const { return alignment_; }
  [[nodiscard]] bool host_granted() const { return host_granted_.load(std::memory_order_relaxed); }
  [[nodiscard]] std::size_t size() const { return count_; }
  [[nodiscard]] OwnedHandle& handle(std::size_t index) { return chunks_[index].handle; }
  [[nodiscard]] std::size_t chunk_bytes(std::size_t index) const { return chunks_[index].bytes; }
  [[nodiscard]] const Access& access() const { return access_; }

 private:
  struct Chunk {
    OwnedHandle handle;
    char* at;
    std::size_t bytes;
    bool mapped;
    bool host;  // the CPU was let in
  };
  MappedRange(ContextPtr context, Access access);
  [[nodiscard]] Result<void> map_chunk(Chunk& chunk, const Access& access, const std::string& doing);
  [[nodiscard]] Access access_of(const Chunk& chunk) const;
  void unmap_from(std::size_t first);
  [[nodiscard]] Result<void> unmap_one(Chunk& chunk, const std::string& doing);
  [[nodiscard]] Result<void> put(Chunk& chunk, const Access& access, const std::string& doing);
  [[nodiscard]] Result<void> exchange(std::size_t index, Chunk& fresh, std::int64_t chunk);
  void restore(Chunk& chunk, const std::string& doing, Error& error);
  void drop(std::size_t first, bool addresses_too) noexcept;
  void set_count(std::size_t count);
  [[nodiscard]] bool untouchable() const;

  ContextPtr context_;
  Access access_;
  pid_t process_;
  void* reserved_ = nullptr;
  std::size_t reserved_size_ = 0;
  bool held_ = false;  // the reservation
  char* base_ = nullptr;
  std::size_t usable_ = 0;
  std::size_t alignment_ = 0;
  std::size_t mapped_ = 0;
  bool asleep_ = false;
  std::atomic<bool> host_granted_{false};
  std::size_t count_ = 0;  // of whole ones; what lies behind them is to be given back
  struct Replaced {
    std::size_t index;
    std::int64_t number;
    OwnedHandle handle;
  };
  std::vector<Replaced> replaced_;  // oldest first; as chunks_
  std::vector<Chunk> chunks_;       // under the vmm lock, and process_lock() for the sake of forked children
};

// From exit() on, until the process is gone, the runtime may have been taken down already: is_exiting()
// tells, once watch_for_exit() was called.
void watch_for_exit();
[[nodiscard]] bool is_exiting();

}  // namespace hb::client::hip
