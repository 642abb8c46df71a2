// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// What the client needs of one kind of memory: make it, map what another process exported, undo both. The
// rest of the client does not know which provider it drives.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "error.h"
#include "wire/unique_fd.h"

namespace hb::client {

// A chunk as it is exported. The descriptor is borrowed from its allocation or from the caller.
struct ChunkRef {
  BorrowedFd fd;
  std::uint64_t offset = 0;  // inside the object
  std::uint64_t bytes = 0;
};

// Contiguous memory of this process that can be exported. Destruction unmaps and closes everything.
class Allocation {
 public:
  virtual ~Allocation() = default;
  [[nodiscard]] virtual void* ptr() const = 0;
  [[nodiscard]] virtual std::uint64_t bytes() const = 0;
  [[nodiscard]] virtual std::uint64_t chunk_bytes() const = 0;  // of every chunk but perhaps the last
  [[nodiscard]] virtual std::size_t chunk_count() const = 0;
  [[nodiscard]] virtual ChunkRef chunk(std::size_t index) const = 0;
  [[nodiscard]] virtual std::uint32_t handle_kind() const = 0;  // HB_KIND_*
  // In a forked child: the numbers may be the child's own by now, so they are forgotten, not closed.
  virtual void forget_descriptors() noexcept = 0;
};

struct AllocateRequest {
  std::uint64_t bytes = 0;
  std::uint64_t chunk_bytes = 0;  // 0 = one chunk
  bool sealed = false;
};

// An import taking shape: one contiguous range of addresses, filled chunk by chunk. Destruction unmaps all
// of it, mapped or only reserved.
class ImportedRange {
 public:
  virtual ~ImportedRange() = default;
  // Maps a part of one chunk at `at` bytes from the first byte asked for.
  struct Part {
    ChunkRef object;  // offset and bytes: the part, inside the object
    std::uint64_t at = 0;
    std::uint64_t chunk = 0;         // its number, for errors
    std::uint64_t object_bytes = 0;  // what the chunk's object must at least hold
  };
  [[nodiscard]] virtual Result<void> map(const Part& part) = 0;
  [[nodiscard]] virtual void* ptr() const = 0;  // of the first byte asked for; valid once all is mapped
};

struct RangeRequest {
  std::uint64_t bytes = 0;         // asked for
  std::uint64_t first_offset = 0;  // of the first byte inside its object
  void* address = nullptr;         // wished, of the first byte
  bool writable = false;
  std::uint32_t handle_kind = 0;
};

class Provider {
 public:
  virtual ~Provider() = default;
  [[nodiscard]] virtual Result<std::unique_ptr<Allocation>> allocate(const AllocateRequest& request) = 0;
  [[nodiscard]] virtual Result<std::unique_ptr<ImportedRange>> begin_import(const RangeRequest& request) = 0;
};

// By HB_PROVIDER_*; nullptr for a number this build does not know.
[[nodiscard]] Provider* provider(std::uint32_t number);
// Whoever maps chunks of this handle kind; nullptr when none does.
[[nodiscard]] Provider* provider_of_kind(std::uint32_t handle_kind);

}  // namespace hb::client
