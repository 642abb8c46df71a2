// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// A run of chunks with the handles it needs, bounded by one frame.
#pragma once

#include <cstdint>

#include "core/core.h"

namespace hb::core {

// Chunks [first, end) as far as they fit: limits::kPageChunks chunks, `max_handles` (1..limits::kFrameFds)
// distinct handles.
[[nodiscard]] Page build_page(Core& core, const Export& exported, std::uint32_t first, std::uint32_t end,
                              std::uint32_t max_handles, Level level);

// How many different allocations these chunks use.
[[nodiscard]] std::uint64_t count_allocations(Core& core, std::span<const Chunk> chunks);

// Bytes of the whole objects behind these chunks, one object as often as chunks use it; UINT64_MAX for more.
[[nodiscard]] std::uint64_t sum_objects(const Core& core, std::span<const Chunk> chunks);

}  // namespace hb::core
