// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "restart/record_codec.h"

#include <gtest/gtest.h>

#include <string>

#include "os/memory_region.h"

namespace hb::test {
namespace {

using core::RecordKind;
using restart::RecordCodec;
using restart::RecordHeap;
namespace record = core::record;

struct Kept {
  RecordHeap heap;
  restart::NodeMemory node;
};

Kept kept(std::size_t most_bytes = std::size_t{1} << 24) {
  auto heap = RecordHeap::open(*os::MemoryRegion::make("records", RecordHeap::kLeastBytes), most_bytes);
  auto node = restart::NodeMemory::open(*os::MemoryRegion::make("node", restart::NodeMemory::kBytes), {});
  EXPECT_TRUE(heap && node);
  return {std::move(heap->heap), std::move(*node)};
}

record::Export sample(const std::string& metadata) {
  record::Export out;
  out.use = 3;
  out.name = "kv";
  out.generation = 7;
  out.metadata = metadata;
  out.acl.push_back({1, 1001, 3});
  out.life.emplace();
  out.life->linger_ns = 5;
  return out;
}

TEST(RecordCodec, WhatIsPutComesBack) {
  Kept memory = kept();
  RecordCodec codec(memory.heap, memory.node);
  codec.begin();
  codec.put({RecordKind::kExport, 4, 0}, sample("meta"));
  record::Chunks page;
  page.allocations = {1, 2};
  page.offsets = {0, 0};
  page.sizes = {10, 20};
  codec.put({RecordKind::kChunks, 4, 0}, page);
  codec.put({RecordKind::kStagedChunks, 4, 1}, page);
  record::Floors floors;
  floors.exports = 9;
  codec.put({RecordKind::kFloors, 0, 0}, floors);
  codec.commit();
  EXPECT_EQ(codec.trouble(), "");
  const auto read = restart::read_records(memory.heap);
  ASSERT_EQ(read.set.exports.size(), 1u);
  const auto& [key, back] = read.set.exports[0];
  EXPECT_EQ(key.slot, 4u);
  EXPECT_EQ(back.name, "kv");
  EXPECT_EQ(back.metadata, "meta");
  ASSERT_EQ(back.acl.size(), 1u);
  EXPECT_EQ(back.acl[0].id, 1001u);
  ASSERT_TRUE(back.life);
  EXPECT_EQ(back.life->linger_ns, 5u);
  ASSERT_EQ(read.set.chunks.size(), 2u);
  EXPECT_EQ(read.set.chunks[1].first.kind, RecordKind::kStagedChunks);
  EXPECT_EQ(read.set.floors.at(0).second, floors);
  EXPECT_EQ(restart::read_floors(memory.node), floors);
  EXPECT_TRUE(read.lines.empty());
}

TEST(RecordCodec, WhatIsDroppedDoesNot) {
  Kept memory = kept();
  RecordCodec codec(memory.heap, memory.node);
  codec.begin();
  codec.put({RecordKind::kExport, 4, 0}, sample(""));
  codec.commit();
  codec.begin();
  codec.drop({RecordKind::kExport, 4, 0});
  codec.commit();
  EXPECT_TRUE(restart::read_records(memory.heap).set.exports.empty());
}

// What the memory has no room for is said, and written when there is some.
TEST(RecordCodec, WhatDoesNotFitIsOwed) {
  Kept memory = kept(RecordHeap::kLeastBytes);
  RecordCodec codec(memory.heap, memory.node);
  const std::string large(30'000, 'x');
  for (std::uint32_t slot = 0; slot < 4; ++slot) {
    codec.begin();
    codec.put({RecordKind::kExport, slot, 0}, sample(large));
    codec.commit();
  }
  EXPECT_NE(codec.trouble(), "");
  const std::size_t fitted = restart::read_records(memory.heap).set.exports.size();
  ASSERT_LT(fitted, 4u);
  ASSERT_GT(fitted, 0u);
  for (std::uint32_t slot = 0; slot < 3; ++slot) {
    codec.begin();
    codec.drop({RecordKind::kExport, slot, 0});
    codec.commit();
  }
  codec.begin();
  codec.commit();
  EXPECT_EQ(codec.trouble(), "");
  const auto read = restart::read_records(memory.heap);
  ASSERT_EQ(read.set.exports.size(), 1u);
  EXPECT_EQ(read.set.exports[0].first.slot, 3u);
}

TEST(RecordCodec, WhatCannotBeReadIsNamed) {
  Kept memory = kept();
  const std::string noise = "\xff\xff\xff";
  memory.heap.begin();
  ASSERT_TRUE(memory.heap.put({static_cast<std::uint8_t>(RecordKind::kLease), 3, 0}, std::as_bytes(std::span(noise))));
  ASSERT_TRUE(memory.heap.put({200, 5, 0}, std::as_bytes(std::span(noise))));
  memory.heap.commit();
  const auto read = restart::read_records(memory.heap);
  EXPECT_EQ(read.lines.size(), 2u);
  EXPECT_EQ(read.unreadable.size(), 2u);
}

}  // namespace
}  // namespace hb::test
