// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "core/page.h"

#include <algorithm>

#include "wire/limits.h"

namespace hb::core {

Page build_page(Core& core, const Export& exported, std::uint32_t first, std::uint32_t end,
                std::uint32_t max_handles, Level level) {
  const std::size_t handles = std::clamp<std::size_t>(max_handles, 1, limits::kFrameFds);
  const std::span<const Chunk> chunks =
      exported.chunks.all().subspan(first, std::min<std::size_t>(end - first, limits::kPageChunks));
  const std::uint64_t stamp = core.allocations.next_page_stamp();
  Page page;
  page.first = first;
  // Of a chunk that could be reopened, whatever the weakest one of the range allows.
  page.read_only = level != Level::kNone;
  page.handle_of.reserve(chunks.size());
  for (const Chunk& chunk : chunks) {
    Allocation& allocation = core.allocations.scratch(chunk.allocation);
    if (allocation.page_stamp != stamp) {
      if (page.handles.size() == handles) break;
      allocation.page_stamp = stamp;
      allocation.page_index = static_cast<std::uint16_t>(page.handles.size());
      page.handles.push_back(allocation.handle);
      page.sizes.push_back(allocation.size);
    }
    page.handle_of.push_back(allocation.page_index);
  }
  page.chunks = chunks.first(page.handle_of.size());
  return page;
}

std::uint64_t count_allocations(Core& core, std::span<const Chunk> chunks) {
  const std::uint64_t stamp = core.allocations.next_page_stamp();
  std::uint64_t count = 0;
  for (const Chunk& chunk : chunks) {
    Allocation& allocation = core.allocations.scratch(chunk.allocation);
    if (allocation.page_stamp != stamp) ++count;
    allocation.page_stamp = stamp;
  }
  return count;
}

std::uint64_t sum_objects(const Core& core, std::span<const Chunk> chunks) {
  std::uint64_t sum = 0;
  for (const Chunk& chunk : chunks) {
    const std::uint64_t size = core.allocations.at(chunk.allocation).size;
    if (size > UINT64_MAX - sum) return UINT64_MAX;  // sizes may be declared ones
    sum += size;
  }
  return sum;
}

}  // namespace hb::core
