// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Where the chunks of an export came from, so that a daemon that has lost its descriptors can be given them
// again. Keeps nothing alive: memory is its owner's to free and descriptors are the caller's to close, and
// what is not there any more, or is something else by now, is refused with the reason.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "error.h"
#include "hipbroker/hipbroker.h"
#include "providers/placement.h"

namespace hb::client {

class Memory;
struct ExportPlan;
struct ExportRequest;

struct ExportSource {
  std::uint64_t offset = 0;  // inside the export
  std::uint64_t bytes = 0;
  // One of the three.
  const void* ptr = nullptr;
  std::vector<hb_hip_handle> handles;
  struct Descriptor {
    int number = -1;  // the caller's; the object it had tells whether it is still that
    std::uint64_t device = 0;
    std::uint64_t inode = 0;
    std::uint64_t offset = 0;
    std::uint64_t bytes = 0;
  };
  std::vector<Descriptor> descriptors;

  MemoryKind memory = MemoryKind::kUnknown;  // with ptr
  std::weak_ptr<Memory> own;                 // likewise, of the library's own
  bool is_own = false;
  DeviceId device;  // of handles and descriptors
};
using ExportSources = std::vector<ExportSource>;  // in order of their offsets

// What was exported by this request, with its first byte at `offset` of the export.
[[nodiscard]] ExportSource source_of(const ExportRequest& request, const ExportPlan& plan,
                                     std::uint64_t offset);
// Without the bytes [offset, offset + bytes) of the export, which are whole chunks.
[[nodiscard]] ExportSources without(const ExportSources& sources, std::uint64_t offset, std::uint64_t bytes);
// Its chunks as they were. HB_GONE for memory that was freed, HB_BAD_HANDLE for descriptors that were closed
// or are something else, HB_UNSUPPORTED for those of a driver, which nobody can tell apart.
[[nodiscard]] Result<ExportPlan> plan_again(const ExportSource& source);

}  // namespace hb::client
