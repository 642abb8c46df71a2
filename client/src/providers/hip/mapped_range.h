// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// One reservation of addresses, filled from its start with whole allocations: what both own and imported
// memory are.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "error.h"
#include "providers/hip/access.h"
#include "wire/unique_fd.h"

namespace hb::client::hip {

inline constexpr std::size_t kLargePage = std::size_t{2} << 20;

// Goes with hipMemRelease, and not before its mapping: an owner never outlives what it maps.
class OwnedHandle {
 public:
  OwnedHandle(ContextPtr context, MemHandle handle) : context_(std::move(context)), handle_(handle) {}
  OwnedHandle(OwnedHandle&& other) noexcept;
  OwnedHandle& operator=(OwnedHandle&&) = delete;
  ~OwnedHandle();

  [[nodiscard]] MemHandle get() const { return handle_; }
  // A new descriptor of the allocation, never below 3 and close-on-exec. Inside a DriverScope.
  [[nodiscard]] Result<UniqueFd> export_descriptor(const std::string& doing);
  // Inside a DriverScope.
  void release();
  // In a forked child: nothing here is the child's.
  void forget();

 private:
  ContextPtr context_;
  MemHandle handle_ = nullptr;
  // Where every export answers one number that is the runtime's as well: that number, to be closed once the
  // handle is gone, and a duplicate from which all others are made.
  int shared_number_ = -1;
  UniqueFd shared_duplicate_;
  // Which file the number was, for when no duplicate could be had.
  std::pair<dev_t, ino_t> shared_file_;
};

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

  // Maps the whole of an allocation behind what is mapped already and lets the devices in. After an error
  // only destruction is left. Inside a DriverScope.
  [[nodiscard]] Result<void> add(OwnedHandle handle, std::size_t bytes, std::int64_t chunk);

  // False in a forked child, where nothing of it can be used but the mapping, and no call may be made.
  [[nodiscard]] bool is_here() const;

  [[nodiscard]] char* base() const { return base_; }
  [[nodiscard]] std::size_t mapped_bytes() const { return mapped_; }
  [[nodiscard]] std::size_t reserved_bytes() const { return usable_; }
  [[nodiscard]] bool host_granted() const { return host_granted_ && !chunks_.empty(); }
  [[nodiscard]] std::size_t size() const { return chunks_.size(); }
  [[nodiscard]] OwnedHandle& handle(std::size_t index) { return chunks_[index].handle; }
  [[nodiscard]] std::size_t chunk_bytes(std::size_t index) const { return chunks_[index].bytes; }
  [[nodiscard]] const Access& access() const { return access_; }

 private:
  struct Chunk {
    OwnedHandle handle;
    char* at;
    std::size_t bytes;
    bool mapped;
  };
  MappedRange(ContextPtr context, Access access);
  void unmap_all();

  ContextPtr context_;
  Access access_;
  pid_t process_;
  void* reserved_ = nullptr;
  std::size_t reserved_size_ = 0;
  char* base_ = nullptr;
  std::size_t usable_ = 0;
  std::size_t mapped_ = 0;
  bool host_granted_ = false;
  std::vector<Chunk> chunks_;
};

// Calls that failed while memory was given back, in this process: what they left is lost until it ends.
[[nodiscard]] std::uint64_t teardown_failures();

// Counts it unless it is success.
void note_teardown(HipError code);

// From exit() on, until the process is gone, the runtime may have been taken down already: is_exiting()
// tells, once watch_for_exit() was called.
void watch_for_exit();
[[nodiscard]] bool is_exiting();

}  // namespace hb::client::hip
