// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include <gmock/gmock.h>

#include "core/broker.h"
#include "unit/core/broker_driver.h"
#include "wire/limits.h"

namespace hb::test {
namespace {

using namespace core;
using testing::HasSubstr;

class StagingTest : public testing::Test, public BrokerDriver {
 protected:
  SessionId owner = connect(1000);
  // Two chunks of four sent.
  Exported begun(const std::string& name = "kv") {
    ExportRequest first = chunked(name, 2, 4096);
    first.total_chunks = 4;
    first.total_size = 4 * 4096;
    first.distinct_handles = 4;
    return exported(owner, std::move(first));
  }
  ExportChunksRequest page(ExportId id, std::uint64_t first, std::size_t chunks, std::uint64_t size = 4096) {
    ExportRequest made = chunked("", chunks, size);
    return {id, first, std::move(made.chunks), std::move(made.handles)};
  }
  void expect_no_trace() {
    EXPECT_EQ(counters().stagings, 0u);
    EXPECT_EQ(counters().allocations, 0u);
    EXPECT_EQ(open_handles(), 0u);
    EXPECT_EQ(broker.fds_used(), 10 + 2 * counters().sessions);
    exported(owner, simple("kv"));  // the name is free
  }
};

TEST_F(StagingTest, B22_ExportsOf1To1000ChunksKeepTheirOrder) {
  for (const std::size_t chunks : {1u, 252u, 253u, 254u, 506u, 1000u}) {
    const Exported out = exported_paged(owner, "kv", chunks, 4096, 253);
    EXPECT_EQ(out.received_chunks, chunks);
    Acquired got = acquired(owner, by_key(out.key));
    EXPECT_EQ(got.chunk_count, chunks);
    std::vector<HandleId> seen = got.page.handles;
    std::uint64_t next = got.page.chunks.size();
    EXPECT_LE(next, 253u);
    while (next < chunks) {
      const auto more = std::get<Fetched>(ask(owner, FetchRequest{got.lease, next, 253}));
      ASSERT_FALSE(more.page.chunks.empty());
      EXPECT_EQ(more.page.first, next);
      EXPECT_LE(more.page.handles.size(), 253u);
      EXPECT_EQ(more.page.chunks[0].start, next * 4096);
      next += more.page.chunks.size();
      seen.insert(seen.end(), more.page.handles.begin(), more.page.handles.end());
    }
    EXPECT_EQ(seen.size(), chunks);
    EXPECT_TRUE(std::is_sorted(seen.begin(), seen.end()));
    ask(owner, WithdrawRequest{out.id, false});
  }
}

TEST_F(StagingTest, NobodySeesAnExportThatIsHalfSent) {
  const Exported half = begun();
  EXPECT_FALSE(half.complete);
  EXPECT_EQ(half.received_chunks, 2u);
  const SessionId same_uid = connect(1000);
  EXPECT_EQ(status_of(ask(same_uid, by_name("kv"))), HB_NOT_FOUND);
  EXPECT_EQ(status_of(ask(same_uid, ShowRequest{half.id, 0})), HB_NOT_FOUND);
  EXPECT_TRUE(std::get<Listed>(ask(connect_admin(), ListRequest{})).exports.empty());
  EXPECT_EQ(status_of(ask(owner, WithdrawRequest{half.id, false})), HB_BUSY);
}

TEST_F(StagingTest, AHalfSentExportReservesItsName) {
  begun();
  EXPECT_EQ(status_of(ask(connect(1000), simple("kv"))), HB_EXISTS);
  EXPECT_EQ(status_of(ask(owner, simple("kv"))), HB_EXISTS);
  exported(connect(1001), simple("kv"));
}

TEST_F(StagingTest, AnyErrorInAPageEndsItWithoutTrace) {
  struct Wrong {
    hb_status status;
    std::uint64_t chunk;
    std::function<void(ExportChunksRequest&)> spoil;
  };
  const std::vector<Wrong> wrongs = {
      {HB_PROTO, 2, [](auto& r) { r.first = 1; }},
      {HB_PROTO, 4, [](auto& r) { r.first = 3; }},
      {HB_RANGE, 4, [](auto& r) { r.chunks[1].offset = 1; }},
      {HB_INVALID, 3, [](auto& r) { r.chunks[0].size = 0; }},
      {HB_MIXED, 4, [](auto& r) { r.handles[1].kind = HandleKind::kDmaBuf; }},
      {HB_PROTO, 3, [](auto& r) { r.chunks[0].handle = 9; }},
      {HB_PROTO, 3, [](auto& r) { r.chunks[0].handle = NewChunk::kNoHandle; }},
      {HB_INVALID, 4, [](auto& r) { r.chunks[1].size = 4095; }},
  };
  for (const Wrong& wrong : wrongs) {
    const Exported half = begun();
    ExportChunksRequest more = page(half.id, 2, 2);
    wrong.spoil(more);
    const ReplyBody body = ask(owner, std::move(more));
    EXPECT_EQ(status_of(body), wrong.status);
    EXPECT_EQ(error_of(body).chunk, wrong.chunk) << error_of(body).message;
    EXPECT_EQ(status_of(ask(owner, page(half.id, 2, 2))), HB_NOT_FOUND);
    expect_no_trace();
    ask(owner, WithdrawRequest{NameRef{"kv", {}}, false});
  }
}

TEST_F(StagingTest, TooManyChunksOrDescriptorsEndIt) {
  EXPECT_EQ(status_of(ask(owner, page(begun().id, 2, 3))), HB_PROTO);
  expect_no_trace();
}

TEST_F(StagingTest, AbortAndDisconnectLeaveNoTrace) {
  EXPECT_EQ(status_of(ask(owner, ExportAbortRequest{begun().id})), HB_OK);
  expect_no_trace();
  ask(owner, WithdrawRequest{{}, true});
  begun();
  disconnect(owner);
  owner = connect(1000);
  expect_no_trace();
}

TEST_F(StagingTest, AnotherSessionCannotAddOrAbort) {
  const Exported half = begun();
  const SessionId other = connect(1000);
  EXPECT_EQ(status_of(ask(other, page(half.id, 2, 2))), HB_NOT_FOUND);
  EXPECT_EQ(status_of(ask(other, ExportAbortRequest{half.id})), HB_NOT_FOUND);
  EXPECT_TRUE(std::get<Exported>(ask(owner, page(half.id, 2, 2))).complete);
}

TEST_F(StagingTest, AnAbortedSuccessorLeavesTheOldKeysAsTheyWere) {
  const Exported old = exported(owner, simple("kv"));
  ask(owner, WithdrawRequest{old.id, false});
  const Exported half = begun();
  EXPECT_EQ(status_of(ask(owner, by_key(old.key))), HB_GONE);
  ask(owner, ExportAbortRequest{half.id});
  EXPECT_EQ(status_of(ask(owner, by_key(old.key))), HB_GONE);
  EXPECT_EQ(exported(owner, simple("kv")).generation, 2u);
  EXPECT_EQ(status_of(ask(owner, by_key(old.key))), HB_STALE);
}

TEST_F(StagingTest, ASessionHasOnlySoManyHalfSent) {
  for (std::size_t i = 0; i < limits::kSessionStagings; ++i) begun("n" + std::to_string(i));
  ExportRequest one_more = chunked("last", 1, 4096);
  one_more.total_chunks = 2;
  one_more.total_size = 8192;
  one_more.distinct_handles = 2;
  const ReplyBody body = ask(owner, std::move(one_more));
  EXPECT_EQ(status_of(body), HB_QUOTA);
  EXPECT_EQ(error_of(body).limit, limits::kSessionStagings);
  exported(owner, simple("whole"));
}

TEST_F(StagingTest, DescriptorsStillToComeAreCountedBeforeTheyCome) {
  BrokerConfig config = default_config();
  config.fd_limit = 2000;
  BrokerDriver narrow(config);
  const SessionId first = narrow.connect(1000);
  ExportRequest big = narrow.chunked("a", 1, 4096);
  big.total_chunks = 1500;
  big.total_size = 1500 * 4096;
  big.distinct_handles = 1500;
  narrow.exported(first, std::move(big));
  const ReplyBody body = narrow.ask(narrow.connect(1001), narrow.chunked("b", 253, 4096));
  EXPECT_EQ(status_of(body), HB_NO_FDS);
  EXPECT_EQ(error_of(body).what, "RLIMIT_NOFILE");
  EXPECT_EQ(error_of(body).limit, 2000u);
  EXPECT_EQ(error_of(body).used, 10u + 4u + 1500u);
  narrow.disconnect(first);
  narrow.exported(narrow.connect(1001), narrow.chunked("b", 253, 4096));
}

TEST_F(StagingTest, B22_61440DescriptorsAreRefusedWithBothNumbersBeforeAnyIsTaken) {
  ExportRequest request = chunked("slab", 253, 2 * kMiB);
  request.total_chunks = 61'440;
  request.total_size = 61'440 * 2 * kMiB;
  request.distinct_handles = 61'440;
  const ReplyBody body = ask(owner, std::move(request));
  EXPECT_EQ(status_of(body), HB_NO_FDS);
  EXPECT_THAT(error_of(body).message, HasSubstr("61440"));
  EXPECT_THAT(error_of(body).message, HasSubstr("20000"));
  expect_no_trace();
  exported_paged(owner, "fits", 18'000, 2 * kMiB, 253);
}

}  // namespace
}  // namespace hb::test
