// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// What is done with GPU memory: made, exported, imported. Each call succeeds whole or leaves no trace, and
// its error names the chunk and the driver's call. The quirks of the runtime are applied here and below.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "error.h"
#include "providers/hip/access.h"
#include "providers/hip/mapped_range.h"
#include "wire/unique_fd.h"

namespace hb::client::hip {

// The recommended granularity of memory on a device, and at least 2 MiB: smaller mappings fault on some GPUs.
[[nodiscard]] Result<std::size_t> granularity(const Context& context, int device);

struct AllocateSpec {
  std::uint64_t bytes = 0;          // rounded up to the granularity
  std::uint64_t chunk_bytes = 0;    // rounded up; 0 = one chunk
  Access access;                    // access.owner is the device, whatever is current
  std::uint64_t reserve_bytes = 0;  // addresses for growth, from the first byte; rounded up to whole chunks
};

// Contiguous exportable memory of this process.
[[nodiscard]] Result<std::unique_ptr<MappedRange>> allocate(const ContextPtr& context,
                                                            const AllocateSpec& spec);

// More memory behind what the range has, one allocation for each size: multiples of range.alignment().
[[nodiscard]] Result<void> extend(const ContextPtr& context, MappedRange& range,
                                  std::span<const std::uint64_t> sizes);

// A new descriptor of one chunk. Never of an import: HB_NOT_SHAREABLE before any driver call.
[[nodiscard]] Result<UniqueFd> export_chunk(const Context& context, MappedRange& range, std::size_t index);

struct ImportChunk {
  UniqueFd descriptor;            // closed once access is granted, and by every failure
  std::uint64_t bytes = 0;        // of the whole object: allocations are mapped whole
  std::uint32_t handle_kind = 0;  // HB_KIND_*
  std::int64_t number = 0;        // in the export, for errors
};

struct ImportSpec {
  Access access;
  DeviceId owner;                   // for errors
  std::uint64_t bytes = 0;          // of all chunks that will come
  std::uint64_t chunks = 0;         // how many
  std::uint64_t offset = 0;         // of the first byte asked for inside the first chunk
  void* address = nullptr;          // wished, of that byte; congruent to `offset` modulo the granularity
  std::uint64_t reserve_bytes = 0;  // addresses to hold, from the start of the first chunk; `bytes` at least
};

// An import that grows chunk by chunk, so that a page of descriptors is gone before the next one comes.
class Import {
 public:
  [[nodiscard]] static Result<Import> begin(const ContextPtr& context, const ImportSpec& spec);
  // In address order, all of them or none.
  [[nodiscard]] Result<void> add(std::span<ImportChunk> chunks);
  // In the place of the one at `index`, which has as many bytes.
  [[nodiscard]] Result<void> replace(std::size_t index, ImportChunk chunk);

  [[nodiscard]] void* ptr() const { return range_->base() + offset_; }  // of the first byte asked for
  [[nodiscard]] MappedRange& range() const { return *range_; }

 private:
  Import(ContextPtr context, DeviceId owner, std::unique_ptr<MappedRange> range, std::uint64_t offset)
      : context_(std::move(context)), owner_(std::move(owner)), range_(std::move(range)), offset_(offset) {}
  Result<void> add_inside(std::span<ImportChunk> chunks);
  Result<void> add_one(ImportChunk& chunk);
  Result<OwnedHandle> import_one(ImportChunk& chunk);

  ContextPtr context_;
  DeviceId owner_;
  std::unique_ptr<MappedRange> range_;
  std::uint64_t offset_;
};

}  // namespace hb::client::hip
