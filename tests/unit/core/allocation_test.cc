// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include <gmock/gmock.h>

#include "core/broker.h"
#include "unit/core/broker_driver.h"

namespace hb::test {
namespace {

using namespace core;

class AllocationTest : public testing::Test, public BrokerDriver {
 protected:
  SessionId owner = connect(1000);
  ExportRequest over(const std::string& name, const HandleFacts& handle, std::uint64_t offset,
                     std::uint64_t size) {
    ExportRequest request;
    request.name = name;
    request.kind = handle.kind;
    request.total_chunks = 1;
    request.total_size = size;
    request.distinct_handles = 1;
    request.handles = {handle};
    request.chunks.resize(1);
    request.chunks[0].handle = 0;
    request.chunks[0].offset = offset;
    request.chunks[0].size = size;
    return request;
  }
  ExportRequest declared(const std::string& name, std::uint64_t identity, std::uint64_t object_size = 8192) {
    ExportRequest request = over(name, driver_handle(), 0, 4096);
    request.chunks[0].identity = identity;
    request.chunks[0].object_size = object_size;
    return request;
  }
};

TEST_F(AllocationTest, B15_FourSubRangesOfOneObjectAreOneDescriptorWithTheirOffsets) {
  for (std::uint64_t i = 0; i < 4; ++i)
    exported(owner, over("part" + std::to_string(i), memfd(16 * kMiB, 42), i * 4 * kMiB, kMiB));
  EXPECT_EQ(counters().allocations, 1u);
  EXPECT_EQ(counters().bytes, 16 * kMiB);
  EXPECT_EQ(open_handles(), 1u);
  for (std::uint64_t i = 0; i < 4; ++i) {
    const Acquired got = acquired(owner, by_name("part" + std::to_string(i)));
    ASSERT_EQ(got.page.chunks.size(), 1u);
    EXPECT_EQ(got.page.chunks[0].offset, i * 4 * kMiB);
    EXPECT_EQ(got.page.chunks[0].size, kMiB);
  }
  EXPECT_EQ(status_of(ask(owner, over("over", memfd(16 * kMiB, 42), 15 * kMiB + 1, kMiB))), HB_RANGE);
}

TEST_F(AllocationTest, B18_DuplicatesOfOneObjectAreOneAllocationAndTheReadOnlyOneIsApart) {
  exported(owner, over("p", memfd(4096, 1), 0, 4096));
  exported(owner, over("q", memfd(4096, 1), 0, 4096));
  exported(owner, over("r", memfd(4096, 2), 0, 4096));
  EXPECT_EQ(counters().allocations, 2u);
  EXPECT_EQ(counters().bytes, 8192u);
  EXPECT_EQ(exported(owner, over("s", memfd(4096, 1, false), 0, 4096)).access, Access::kRead);
  EXPECT_EQ(counters().allocations, 3u);
  const auto p = std::get<Shown>(ask(owner, ShowRequest{NameRef{"p", {}}, 0}));
  const auto q = std::get<Shown>(ask(owner, ShowRequest{NameRef{"q", {}}, 0}));
  const auto s = std::get<Shown>(ask(owner, ShowRequest{NameRef{"s", {}}, 0}));
  EXPECT_EQ(p.chunks[0].allocation, q.chunks[0].allocation);
  EXPECT_NE(p.chunks[0].allocation, s.chunks[0].allocation);
  EXPECT_EQ(status_of(ask(owner, writing(by_name("s")))), HB_READ_ONLY);
  ask(owner, WithdrawRequest{NameRef{"p", {}}, false});
  EXPECT_EQ(counters().allocations, 3u);
  acquired(owner, writing(by_name("q")));
}

TEST_F(AllocationTest, B18_TheSameObjectFromAnotherSessionIsHeldOnce) {
  exported(owner, over("p", memfd(4096, 1), 0, 4096));
  HandleFacts again = memfd(4096, 1);
  exported(connect(1001), over("p", again, 0, 4096));
  EXPECT_TRUE(is_closed(again.id));
  EXPECT_EQ(counters().allocations, 1u);
  disconnect(owner);
  EXPECT_EQ(counters().allocations, 1u);
}

TEST_F(AllocationTest, TheLastExportClosesTheHandle) {
  const HandleFacts handle = memfd(4096, 1);
  exported(owner, over("p", handle, 0, 4096));
  exported(owner, over("q", memfd(4096, 1), 0, 4096));
  ask(owner, WithdrawRequest{NameRef{"p", {}}, false});
  EXPECT_FALSE(is_closed(handle.id));
  ask(owner, WithdrawRequest{NameRef{"q", {}}, false});
  EXPECT_TRUE(is_closed(handle.id));
}

TEST_F(AllocationTest, ADeclaredIdentityCountsWithinItsSessionOnly) {
  exported(owner, declared("a", 7));
  exported(owner, declared("b", 7));
  EXPECT_EQ(counters().allocations, 1u);
  exported(connect(1000), declared("c", 7));
  EXPECT_EQ(counters().allocations, 2u);
  exported(owner, declared("d", 0));
  exported(owner, declared("e", 0));
  EXPECT_EQ(counters().allocations, 4u);
  exported(owner, declared("f", 7, 16'384));
  EXPECT_EQ(counters().allocations, 5u);
}

TEST_F(AllocationTest, OneDescriptorIsOneIdentity) {
  ExportRequest request = declared("a", 7);
  request.total_chunks = 2;
  request.total_size = 8192;
  request.chunks.push_back(request.chunks[0]);
  request.chunks[1].identity = 8;
  const ReplyBody body = ask(owner, std::move(request));
  EXPECT_EQ(status_of(body), HB_INVALID);
  EXPECT_EQ(error_of(body).chunk, 2u);
}

TEST_F(AllocationTest, B18_NobodyGetsWriteOverAReadOnlyDescriptor) {
  ExportRequest acl = over("a", memfd(4096, 1, false), 0, 4096);
  acl.acl = {uid_writes(1001)};
  const ReplyBody body = ask(owner, std::move(acl));
  EXPECT_EQ(status_of(body), HB_READ_ONLY);
  EXPECT_EQ(error_of(body).chunk, 1u);
  ExportRequest most = over("a", memfd(4096, 1, false), 0, 4096);
  most.max_access = Access::kReadWrite;
  EXPECT_EQ(status_of(ask(owner, std::move(most))), HB_READ_ONLY);
  EXPECT_EQ(open_handles(), 0u);
}

TEST_F(AllocationTest, TheWeakestDescriptorDecidesWhatTheExportGives) {
  ExportRequest request = chunked("a", 2, 4096);
  request.handles[1].writable = false;
  EXPECT_EQ(exported(owner, std::move(request)).access, Access::kRead);
  ExportRequest capped = simple("b");
  capped.max_access = Access::kRead;
  EXPECT_EQ(exported(owner, std::move(capped)).access, Access::kRead);
  EXPECT_EQ(status_of(ask(owner, writing(by_name("b")))), HB_READ_ONLY);
  ExportRequest contradiction = simple("c");
  contradiction.max_access = Access::kRead;
  contradiction.acl = {uid_writes(1001)};
  EXPECT_EQ(status_of(ask(owner, std::move(contradiction))), HB_READ_ONLY);
}

}  // namespace
}  // namespace hb::test
