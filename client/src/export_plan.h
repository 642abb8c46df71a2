// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// What exactly an export consists of, decided before a byte is sent.
#pragma once

#include <memory>
#include <vector>

#include "exports.h"
#include "memory.h"

namespace hb::client {

// One frame's worth.
struct ExportPage {
  std::size_t first = 0;
  std::size_t count = 0;
  std::vector<int> fds;                  // borrowed, distinct; none where they are made for each sending
  std::vector<std::uint32_t> handle_of;  // of each chunk, from 1, as on the wire
};

struct ExportPlan {
  std::vector<ChunkRef> chunks;
  std::vector<ExportPage> pages;
  std::uint64_t bytes = 0;
  std::uint64_t handles = 0;      // descriptors of all pages
  std::uint32_t handle_kind = 0;  // 0: the first descriptor that is made tells
  DeviceId device;
  std::vector<DeviceId> peers;               // other GPUs that were let in
  std::shared_ptr<const Allocation> source;  // makes descriptors, or keeps them open; none if brought along
  std::shared_ptr<Memory> memory;            // of the library's own memory
};

// A range of memory of this library becomes exactly its bytes: the first and the last chunk are cut to it,
// so that a name and the key mean the same bytes; a range of other memory likewise, as far as the GPU's
// driver tells what lies there. HB_NOT_SHAREABLE for what came from another process, before any driver call.
[[nodiscard]] Result<ExportPlan> plan_export(const ExportRequest& request);

}  // namespace hb::client
