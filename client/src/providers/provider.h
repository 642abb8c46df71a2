// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// What the client needs of one kind of memory: make it, map what another process exported, undo both. The
// rest of the client does not know which provider it drives.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "error.h"
#include "providers/block_range.h"
#include "providers/placement.h"
#include "wire/unique_fd.h"

namespace hb::client {

// A chunk as it is exported. The descriptor is borrowed from its allocation or from the caller; with none,
// Allocation::export_chunk() makes one.
struct ChunkRef {
  BorrowedFd fd;
  std::uint64_t offset = 0;  // inside the object
  std::uint64_t bytes = 0;
  std::uint64_t object_bytes = 0;  // of the whole object; 0 = whatever the kernel says
  std::size_t index = 0;           // in its allocation
};

// Contiguous memory of this process that can be exported. Destruction unmaps and closes everything.
// grow(), sleep() and wake() come one at a time; everything else may come from other threads meanwhile, but
// for sleep(), which invalidates what chunk() lent.
class Allocation {
 public:
  virtual ~Allocation() = default;
  [[nodiscard]] virtual void* ptr() const = 0;
  [[nodiscard]] virtual std::uint64_t bytes() const = 0;
  // Of every chunk but perhaps a shorter last one; 0: they differ.
  [[nodiscard]] virtual std::uint64_t chunk_bytes() const = 0;
  [[nodiscard]] virtual std::size_t chunk_count() const = 0;
  [[nodiscard]] virtual ChunkRef chunk(std::size_t index) const = 0;
  // A new descriptor, of a chunk that keeps none open.
  [[nodiscard]] virtual Result<UniqueFd> export_chunk(std::size_t index) const;
  // HB_KIND_*; 0 while no descriptor has been made that tells.
  [[nodiscard]] virtual std::uint32_t handle_kind() const = 0;
  // The GPU it is on; empty for host memory.
  [[nodiscard]] virtual const DeviceId& device() const;
  // In this process; -1 for host memory.
  [[nodiscard]] virtual int ordinal() const { return -1; }
  // Other GPUs that were let in.
  [[nodiscard]] virtual std::vector<PeerGrant> peers() const { return {}; }
  [[nodiscard]] virtual bool host_granted() const { return true; }  // the CPU may use ptr()
  // In a forked child: the numbers may be the child's own by now, so they are forgotten, not closed.
  virtual void forget_descriptors() noexcept = 0;

  // Whole chunks of the chunk_bytes of its creation, or one new chunk where that was 0, behind its end and in
  // place. All of them or none. HB_RANGE when there are not that many addresses left.
  [[nodiscard]] virtual Result<void> grow(std::uint64_t bytes);
  // How large it can become.
  [[nodiscard]] virtual std::uint64_t reserved_bytes() const { return bytes(); }
  // Gives the memory back and keeps the addresses, where that works. Sizes go on telling what wakes again.
  virtual void sleep() noexcept {}
  // New memory at the same base, reached by the same devices and, if it was before, by the CPU. Host memory
  // is zeroed. After an error it sleeps on; HB_ADDRESS when another mapping has its addresses.
  [[nodiscard]] virtual Result<void> wake();
  [[nodiscard]] virtual bool asleep() const { return false; }

 protected:
  // Whether it can grow by `bytes`, rounded up to `step`.
  [[nodiscard]] Result<void> check_growth(std::uint64_t bytes, std::uint64_t step) const;
};

struct AllocateRequest {
  std::uint64_t bytes = 0;
  std::uint64_t chunk_bytes = 0;  // 0 = one chunk
  bool sealed = false;
  bool dmabuf = false;  // host: descriptors of this kind
  // On GPUs:
  int device = 0;           // ordinal in this process; kCurrentDevice = the calling thread's
  DeviceId device_id = {};  // counts instead unless it is empty
  DeviceSet peers = {};
  HostAccess host = HostAccess::kNone;
  std::uint64_t reserve_bytes = 0;  // addresses to hold for growth, from the start; rounded up as needed

  static constexpr int kCurrentDevice = -1;
};

// An allocation by what its maker holds of it.
struct ForeignHandle {
  void* handle = nullptr;  // the driver's; borrowed
  std::uint64_t bytes = 0;
  const void* base = nullptr;  // where it is mapped here; nullptr: nowhere
};

// Memory that the library did not make: by handles, or where it lies.
struct AdoptRequest {
  std::span<const ForeignHandle> handles;
  DeviceId device;                          // of the handles; empty: the driver is asked
  const void* ptr = nullptr;                // without handles
  std::uint64_t bytes = 0;                  // from there
  MemoryKind claim = MemoryKind::kUnknown;  // what the caller vouches for; unknown: the driver is asked
};

// An import: one contiguous range of addresses, filled chunk by chunk, which may grow, change and sleep in
// place. Destruction unmaps all of it, mapped or only reserved. One thread at a time.
class ImportedRange {
 public:
  virtual ~ImportedRange() = default;
  // Maps a part of one chunk at `at` bytes from the first byte asked for.
  struct Part {
    ChunkRef object;  // offset and bytes: the part, inside the object
    std::uint64_t at = 0;
    std::uint64_t chunk = 0;         // its number, for errors
    std::uint64_t object_bytes = 0;  // what the chunk's object must at least hold
    std::uint64_t whole_bytes = 0;   // of that object as the daemon knows it; 0: it does not tell
  };
  // Behind what is mapped. After an error the range is as it was.
  [[nodiscard]] virtual Result<void> map(const Part& part) = 0;
  // In the place of the part that is mapped at part.at: as many bytes, as far into an object of the same
  // size. Else HB_INVALID (no part begins there) or HB_UNSUPPORTED. After an error the old one is mapped
  // still, or again; on a GPU there is a moment when neither is, and where the old one could not be mapped
  // again the error says so.
  [[nodiscard]] virtual Result<void> replace(const Part& part) = 0;
  // What replace() put away is kept until one of the two: all of it is mapped again in its place, or let go.
  virtual void undo_replaced() noexcept = 0;
  virtual void keep_replaced() noexcept = 0;
  // Where the part that is mapped `index`th begins, from the first byte asked for.
  [[nodiscard]] virtual std::uint64_t part_at(std::size_t index) const = 0;
  // Unmaps the parts that begin at `bytes` bytes from the first byte or behind; the addresses stay.
  virtual void cut(std::uint64_t bytes) noexcept = 0;
  // Unmaps all and lets go of it. The addresses stay, where that does not keep the memory.
  virtual void sleep() noexcept = 0;
  // After sleep(), before the first map(): the addresses are held. From there on all is mapped from the
  // start, and reached by whatever reached it before. HB_ADDRESS when they had to be given up and another
  // mapping has them: it sleeps on, and may be woken later. HB_UNSUPPORTED for HB_MAP_EXTERNAL, which has no
  // addresses to keep: import it anew.
  [[nodiscard]] virtual Result<void> wake() = 0;
  // Valid once all is mapped:
  [[nodiscard]] virtual void* ptr() const = 0;  // of the first byte asked for
  struct Span {
    const void* start = nullptr;
    std::uint64_t bytes = 0;
  };
  // All its addresses, with what lies around the bytes asked for, what is reserved for growth and what
  // sleeps.
  [[nodiscard]] virtual Span mapped() const = 0;
  [[nodiscard]] virtual bool host_granted() const { return true; }
  // The owner's GPU in this process; -1 = not visible here, or host memory.
  [[nodiscard]] virtual int ordinal() const { return -1; }
  // Those that the exporter let in, in its order, then others that this import let in.
  [[nodiscard]] virtual std::vector<PeerGrant> peers() const { return {}; }
};

struct RangeRequest {
  std::uint64_t bytes = 0;         // asked for
  std::uint64_t first_offset = 0;  // of the first byte inside its object
  void* address = nullptr;         // wished, of the first byte
  bool writable = false;
  std::uint32_t handle_kind = 0;
  // On GPUs:
  DeviceId owner = {};
  DeviceSet peers = {};
  std::vector<DeviceId> exporter_peers = {};
  HostAccess host = HostAccess::kNone;
  Mapping mapping = Mapping::kVmm;
  std::uint64_t chunks = 0;        // that will come
  std::uint64_t object_bytes = 0;  // of all their objects, whole
  // Addresses to hold for growth, from the first byte asked for; 0 = just `bytes`. Rounded up as needed. They
  // cost no memory, neither here nor on a GPU; with HB_MAP_EXTERNAL nothing is held.
  std::uint64_t reserve_bytes = 0;
};

class Provider {
 public:
  virtual ~Provider() = default;
  [[nodiscard]] virtual Result<std::unique_ptr<Allocation>> allocate(const AllocateRequest& request) = 0;
  [[nodiscard]] virtual Result<std::unique_ptr<ImportedRange>> begin_import(const RangeRequest& request) = 0;
  // What an export needs of memory that stays its maker's. Whole allocations, in address order: of those by
  // address, all that the range touches. Every descriptor is checked against the size when it is made.
  [[nodiscard]] virtual Result<std::unique_ptr<Allocation>> adopt(const AdoptRequest& request);
  // Addresses for request.bytes, rounded up to blocks of request.chunk_bytes, and no memory yet.
  [[nodiscard]] virtual Result<std::unique_ptr<BlockRange>> reserve(const AllocateRequest& request) = 0;
};

// HB_RANGE for more addresses than any export can have bytes.
[[nodiscard]] Result<void> check_reserve(const RangeRequest& request);

// By HB_PROVIDER_*; nullptr for a number this build does not know.
[[nodiscard]] Provider* provider(std::uint32_t number);
// Whoever maps chunks of this handle kind; nullptr when none does. Memory on a GPU is mapped by the GPU's
// runtime, whatever the kind of its descriptors.
[[nodiscard]] Provider* provider_of(std::uint32_t handle_kind, const DeviceId& device);

// Calls of a driver or the kernel that failed while memory was given back, in this process.
[[nodiscard]] std::uint64_t failed_frees();

}  // namespace hb::client
