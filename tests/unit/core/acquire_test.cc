// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include <gmock/gmock.h>

#include "core/broker.h"
#include "unit/core/broker_driver.h"

namespace hb::test {
namespace {

using namespace core;
using testing::HasSubstr;

class AcquireTest : public testing::Test, public BrokerDriver {
 protected:
  SessionId owner = connect(1000);
  SessionId other = connect(1000);
  hb_status range_status(const AcquireRequest& request) { return status_of(ask(other, request)); }
};

TEST_F(AcquireTest, AnAcquireTellsEverythingAboutRangeAndExport) {
  ExportRequest request = chunked("kv", 3, 8192);
  request.metadata = "layout";
  request.placement = {{"GPU-1234", "0000:c1:00.0", 2}, {{"", "0000:c6:00.0", 0}}};
  const Exported out = exported(owner, std::move(request));
  const Acquired got = acquired(other, ranged(by_key(out.key), 8192 + 100, 8192));
  EXPECT_EQ(got.offset, 8292u);
  EXPECT_EQ(got.length, 8192u);
  EXPECT_EQ(got.first_chunk, 1u);
  EXPECT_EQ(got.chunk_count, 2u);
  EXPECT_EQ(got.chunk_base, 8192u);
  EXPECT_EQ(got.access, Access::kRead);
  EXPECT_EQ(*got.exported.metadata, "layout");
  EXPECT_EQ(*got.exported.name, "kv");
  EXPECT_EQ(got.exported.device->uuid, "GPU-1234");
  EXPECT_THAT(*got.exported.peers, testing::ElementsAre(Device{"", "0000:c6:00.0", 0}));
  EXPECT_EQ(got.object_bytes, 2 * 8192u);
  EXPECT_THAT(got.page.sizes, testing::ElementsAre(8192, 8192));
  EXPECT_EQ(got.exported.size, 3 * 8192u);
  EXPECT_EQ(got.secret, out.secret);
  EXPECT_EQ(got.page.handles.size(), 2u);
  EXPECT_EQ(got.page.first, 1u);
}

// What an importer that maps whole objects reserves: each object once for each chunk of the range.
TEST_F(AcquireTest, ObjectsAreCountedWholeForEachChunkOfTheRange) {
  ExportRequest request = simple("kv", 3 * 4096);
  request.handles = {memfd(64 * kKiB), memfd(1 * kMiB)};
  const auto part = [](std::uint32_t handle, std::uint64_t offset) {
    NewChunk chunk;
    chunk.handle = handle;
    chunk.offset = offset;
    chunk.size = 4096;
    return chunk;
  };
  request.chunks = {part(0, 0), part(1, 8192), part(0, 4096)};
  request.total_chunks = 3;
  request.distinct_handles = 2;
  const Exported out = exported(owner, std::move(request));
  EXPECT_EQ(acquired(other, by_key(out.key)).object_bytes, kMiB + 2 * 64 * kKiB);
  EXPECT_EQ(acquired(other, ranged(by_key(out.key), 4096, 4096)).object_bytes, kMiB);
  const Acquired first = acquired(other, by_key(out.key));
  EXPECT_THAT(first.page.sizes, testing::ElementsAre(64 * kKiB, kMiB));
  EXPECT_THAT(first.page.handle_of, testing::ElementsAre(0, 1, 0));
}

TEST_F(AcquireTest, DeclaredSizesTravelAndTheirSumDoesNotWrap) {
  ExportRequest request;
  request.kind = HandleKind::kDriver;
  request.total_chunks = 2;
  request.total_size = 2 * 4096;
  request.chunks.resize(2);
  for (std::uint32_t i = 0; i < 2; ++i) {
    request.handles.push_back(driver_handle());
    request.chunks[i].handle = i;
    request.chunks[i].size = 4096;
    request.chunks[i].object_size = i == 0 ? 8192 : UINT64_MAX - 1;
  }
  const Exported out = exported(owner, std::move(request));
  const Acquired one = acquired(other, ranged(by_key(out.key), 0, 4096));
  EXPECT_EQ(one.object_bytes, 8192u);
  EXPECT_THAT(one.page.sizes, testing::ElementsAre(8192));
  EXPECT_EQ(acquired(other, by_key(out.key)).object_bytes, UINT64_MAX);
}

TEST_F(AcquireTest, RangesAreExactAtEveryChunkEdge) {
  const Exported out = exported(owner, chunked("kv", 3, 4096));
  struct Case {
    std::uint64_t offset, length, first, count;
  };
  for (const Case& c :
       {Case{0, 1, 0, 1}, Case{0, 4096, 0, 1}, Case{4095, 1, 0, 1}, Case{4095, 2, 0, 2},
        Case{4096, 4096, 1, 1}, Case{4096, 4097, 1, 2}, Case{12'287, 1, 2, 1}, Case{0, 12'288, 0, 3}}) {
    const Acquired got = acquired(other, ranged(by_key(out.key), c.offset, c.length));
    EXPECT_EQ(got.first_chunk, c.first) << c.offset << "+" << c.length;
    EXPECT_EQ(got.chunk_count, c.count) << c.offset << "+" << c.length;
  }
}

TEST_F(AcquireTest, RangesThatLeaveTheTargetAreRefusedWithTheNumbers) {
  const Exported out = exported(owner, simple("kv", 4096));
  EXPECT_EQ(range_status(ranged(by_key(out.key), 4096, 0)), HB_RANGE);
  EXPECT_EQ(range_status(ranged(by_key(out.key), 0, 4097)), HB_RANGE);
  EXPECT_EQ(range_status(ranged(by_key(out.key), 1, UINT64_MAX)), HB_RANGE);
  EXPECT_EQ(range_status(ranged(by_key(out.key), UINT64_MAX, 2)), HB_RANGE);
  const Error error = error_of(ask(other, ranged(by_key(out.key), 4000, 97)));
  EXPECT_THAT(error.message, HasSubstr("4000"));
  EXPECT_THAT(error.message, HasSubstr("97"));
  EXPECT_THAT(error.message, HasSubstr("4096"));
}

TEST_F(AcquireTest, ASubRangeKeyIsATargetOfItsOwn) {
  const Exported out = exported(owner, chunked("kv", 4, 4096));
  const KeyBytes part = sub_key(out, 4096, 8192);
  const Acquired whole = acquired(other, by_key(part));
  EXPECT_EQ(whole.offset, 4096u);
  EXPECT_EQ(whole.length, 8192u);
  const Acquired inner = acquired(other, ranged(by_key(part), 4096, 0));
  EXPECT_EQ(inner.offset, 8192u);
  EXPECT_EQ(inner.length, 4096u);
  EXPECT_EQ(inner.first_chunk, 2u);
  EXPECT_EQ(range_status(ranged(by_key(part), 0, 8193)), HB_RANGE);
  EXPECT_EQ(range_status(by_key(sub_key(out, 12'288, 4097))), HB_RANGE);
  EXPECT_EQ(range_status(by_key(sub_key(out, UINT64_MAX, 2))), HB_RANGE);
  EXPECT_EQ(range_status(by_key(sub_key(out, 0, 0))), HB_RANGE);
}

TEST_F(AcquireTest, APageHasOnlySoManyHandlesAndFetchGoesOn) {
  const Exported out = exported(owner, chunked("kv", 10, 4096));
  AcquireRequest request = ranged(by_key(out.key), 4096, 8 * 4096);
  request.max_handles = 3;
  const Acquired got = acquired(other, request);
  EXPECT_EQ(got.page.handles.size(), 3u);
  EXPECT_EQ(got.page.chunks.size(), 3u);
  const auto rest = std::get<Fetched>(ask(other, FetchRequest{got.lease, 4, 253}));
  EXPECT_EQ(rest.page.first, 4u);
  EXPECT_EQ(rest.page.chunks.size(), 5u);
  EXPECT_EQ(std::get<Fetched>(ask(other, FetchRequest{got.lease, 8, 0})).page.chunks.size(), 1u);
  EXPECT_EQ(status_of(ask(other, FetchRequest{got.lease, 0, 253})), HB_RANGE);
  EXPECT_EQ(status_of(ask(other, FetchRequest{got.lease, 9, 253})), HB_RANGE);
  EXPECT_EQ(status_of(ask(owner, FetchRequest{got.lease, 4, 253})), HB_NOT_HELD);
}

TEST_F(AcquireTest, ManyChunksOfOneAllocationTravelByOneHandle) {
  ExportRequest request = simple("kv", 4096 * 1500);
  request.total_chunks = 1024;
  request.total_size = 1024 * 4096;
  request.chunks.clear();
  for (std::uint64_t i = 0; i < 1024; ++i) {
    NewChunk chunk;
    chunk.handle = 0;
    chunk.offset = (1499 - i) * 4096;
    chunk.size = 4096;
    request.chunks.push_back(chunk);
  }
  const Exported out = exported(owner, std::move(request));
  const Acquired got = acquired(other, by_key(out.key));
  EXPECT_EQ(got.page.handles.size(), 1u);
  EXPECT_EQ(got.page.chunks.size(), 1024u);
  EXPECT_EQ(got.page.chunks[1].offset, 1498 * 4096u);
  EXPECT_EQ(std::get<Shown>(ask(owner, ShowRequest{out.id, 0})).info.allocations, 1u);
}

TEST_F(AcquireTest, B17_ALeaseIsReleasedOnceByItsOwnSession) {
  const Exported out = exported(owner, simple("kv"));
  const Acquired got = acquired(other, by_key(out.key));
  EXPECT_EQ(status_of(ask(owner, ReleaseRequest{got.lease})), HB_NOT_HELD);
  EXPECT_EQ(status_of(ask(other, ReleaseRequest{got.lease})), HB_OK);
  EXPECT_EQ(status_of(ask(other, ReleaseRequest{got.lease})), HB_NOT_HELD);
  EXPECT_EQ(status_of(ask(other, ReleaseRequest{LeaseId{77}})), HB_NOT_HELD);
  EXPECT_EQ(counters().leases, 0u);
}

TEST_F(AcquireTest, OneWayRequestsHaveNoAnswer) {
  const Exported out = exported(owner, simple("kv"));
  const Acquired got = acquired(other, by_key(out.key));
  send_as(other, 0, ReleaseRequest{got.lease});
  ASSERT_EQ(effects.size(), 2u);
  EXPECT_TRUE(std::holds_alternative<SetValidity>(effects[0]));
  EXPECT_TRUE(std::holds_alternative<Audit>(effects[1]));
  send_as(other, 0, ReleaseRequest{got.lease});
  EXPECT_TRUE(effects.empty());
}

TEST_F(AcquireTest, ValidityWordsAreLowestFirstAndNeverTheSameTwice) {
  const Exported out = exported(owner, simple("kv"));
  std::vector<Acquired> got;
  for (std::uint32_t i = 0; i < 200; ++i) {
    got.push_back(acquired(other, by_key(out.key)));
    EXPECT_EQ(got.back().validity_slot, i);
    EXPECT_NE(got.back().validity_value, 0u);
    EXPECT_EQ(word(other, i), got.back().validity_value);
  }
  for (const std::uint32_t slot : {150u, 3u, 70u}) {
    ask(other, ReleaseRequest{got[slot].lease});
    EXPECT_EQ(word(other, slot), 0u);
  }
  for (const std::uint32_t slot : {3u, 70u, 150u, 200u}) {
    const Acquired again = acquired(other, by_key(out.key));
    EXPECT_EQ(again.validity_slot, slot);
    if (slot < 200) {
      EXPECT_NE(again.validity_value, got[slot].validity_value);
    }
  }
  EXPECT_EQ(acquired(owner, by_key(out.key)).validity_slot, 0u);
}

TEST_F(AcquireTest, B24_ADisconnectEndsAllLeasesAndNothingIsLeft) {
  const Exported out = exported(owner, chunked("kv", 8, 4096));
  const std::uint64_t fds = broker.fds_used();
  for (int i = 0; i < 100; ++i) {
    const SessionId passing = connect(1000);
    const Acquired got = acquired(passing, by_key(out.key));
    if (i % 3 != 0) ask(passing, ReleaseRequest{got.lease});
    disconnect(passing);
    for (const Effect& effect : effects) EXPECT_FALSE(std::holds_alternative<SetValidity>(effect));
  }
  EXPECT_EQ(counters().leases, 0u);
  EXPECT_EQ(counters().sessions, 2u);
  EXPECT_EQ(broker.fds_used(), fds);
  EXPECT_TRUE(std::get<WhoListed>(ask(owner, WhoRequest{})).holders.empty());
}

}  // namespace
}  // namespace hb::test
