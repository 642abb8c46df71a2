// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// A heap of records in a memfd, and another process's view of it: a copy of its bytes, opened.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "os/memory_region.h"
#include "restart/record_heap.h"

namespace hb::test {

using Records = std::map<restart::RecordKey, std::string>;

inline std::span<const std::byte> bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }

inline restart::RecordHeap make_heap(std::size_t most = std::size_t{1} << 30) {
  auto region = os::MemoryRegion::make("hbtest-records", restart::RecordHeap::kLeastBytes);
  EXPECT_TRUE(region) << region.error();
  auto opened = restart::RecordHeap::open(std::move(*region), most);
  EXPECT_TRUE(opened) << opened.error();
  EXPECT_TRUE(opened->report.made);
  return std::move(opened->heap);
}

inline Records records_of(const restart::RecordHeap& heap) {
  Records out;
  heap.for_each([&](const restart::RecordKey& key, std::span<const std::byte> bytes) {
    out[key] = std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  });
  return out;
}

inline void put_now(restart::RecordHeap& heap, const restart::RecordKey& key, const std::string& text) {
  heap.begin();
  const auto put = heap.put(key, bytes_of(text));
  EXPECT_TRUE(put) << put.error();
  heap.commit();
}

inline tl::expected<restart::RecordHeap::Opened, std::string> open_copy(std::span<const std::byte> memory) {
  auto region = os::MemoryRegion::make("hbtest-copy", memory.size());
  if (!region) return tl::unexpected(region.error());
  std::copy(memory.begin(), memory.end(), region->bytes().begin());
  return restart::RecordHeap::open(std::move(*region));
}

inline restart::RecordHeap::Opened reopen(const restart::RecordHeap& heap) {
  auto opened = open_copy(heap.memory());
  EXPECT_TRUE(opened) << opened.error();
  return std::move(*opened);
}

}  // namespace hb::test
