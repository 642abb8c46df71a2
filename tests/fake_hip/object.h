// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// What the fake's runtime keeps: buffer objects (physical memory), VMM handles, address reservations and
// regions (an address range with memory behind it). All guarded by State's mutex.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "abi.h"
#include "wire/unique_fd.h"

namespace hb::fakehip {

class FdVault;

// Physical memory. The engine of every device works on `bytes`, a mapping of the whole object that only the
// fake knows; what the CPU sees at a region's address is another mapping.
class BufferObject {
 public:
  // nullptr with errno. The descriptor goes to `vault`, or to `keep` when that is given.
  static std::shared_ptr<BufferObject> create(FdVault& vault, std::uint32_t machine, int line,
                                              std::size_t size, UniqueFd* keep);
  // From a borrowed descriptor: nullptr with errno when it is not one of ours.
  static std::shared_ptr<BufferObject> open(int fd, std::size_t device_count);
  ~BufferObject();
  BufferObject(const BufferObject&) = delete;
  BufferObject& operator=(const BufferObject&) = delete;

  // A new descriptor of the same open file; empty with errno.
  [[nodiscard]] UniqueFd descriptor() const;
  // Puts bytes [offset, offset+size) at `at` for the CPU, replacing what is there. False with errno.
  bool show_to_cpu(void* at, std::size_t offset, std::size_t size, int protection) const;
  [[nodiscard]] bool same_file(int fd) const;

  std::byte* bytes = nullptr;
  std::size_t size = 0;
  int line = -1;  // of the owning device in the description
  std::uint64_t number = 0;
  std::uint64_t inode = 0;

 private:
  BufferObject() = default;
  FdVault* vault_ = nullptr;
};

// The stand-in of ihipMemGenericAllocationHandle: its address is what the caller holds.
struct Handle {
  AllocationProp prop{};
  std::size_t size = 0;
  std::shared_ptr<BufferObject> object;  // null for a lazy import until a grant resolved it
  int references = 1;                    // of the caller
  int mappings = 0;
  bool imported = false;
  UniqueFd kept;       // the descriptor a handle costs from 7.14 on
  int export_fd = -1;  // 7.14: the number every export answers. Whose it is: runtime_closes_export_fd
  int import_fd = -1;  // early 7.14: the caller's number
};

struct Reservation {
  std::size_t size = 0;
  void* raw = nullptr;
  std::size_t raw_size = 0;
  std::vector<std::shared_ptr<BufferObject>> pinned;  // reservation_pins_memory
};

enum class RegionKind : unsigned char { kVmm, kMalloc, kPool, kHost, kRegistered, kExternal };

struct Region {
  RegionKind kind = RegionKind::kVmm;
  std::uintptr_t base = 0;
  std::size_t size = 0;
  std::shared_ptr<BufferObject> object;
  std::size_t offset = 0;  // of the region in the object
  std::shared_ptr<Handle> handle;
  int line = -1;
  int ordinal = -1;           // as HIP reports it
  std::map<int, int> access;  // device line -> kProt...
  int cpu_access = kProtNone;
  bool failed_map = false;  // the map "succeeded" and did nothing
  bool owner_granted_first = false;
  bool owner_wrong = false;     // owner_first_wrong_pages struck
  std::vector<std::byte> junk;  // what a device with wrong pages sees

  [[nodiscard]] bool contains(std::uintptr_t at) const { return at >= base && at - base < size; }
};

}  // namespace hb::fakehip
