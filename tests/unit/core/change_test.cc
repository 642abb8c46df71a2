// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Exports that get other chunks, and leases that follow. All or nothing, one layout version each.
#include <gmock/gmock.h>

#include "core/broker.h"
#include "unit/core/broker_driver.h"
#include "wire/limits.h"

namespace hb::test {
namespace {

using namespace core;
using testing::HasSubstr;

class ChangeTest : public testing::Test, public BrokerDriver {
 protected:
  SessionId owner = connect(1000);
  SessionId holder = connect(1000);

  ExportRequest growing(std::size_t chunks, std::size_t most) {
    ExportRequest request = chunked("kv", chunks, 4096);
    request.max_size = most * 4096;
    return request;
  }
  // `count` new chunks of `size`, all in one frame.
  ChangeRequest change(ExportId id, ChangeRequest::Kind kind, std::size_t count, std::uint64_t first = 0,
                       std::uint64_t size = 4096) {
    ExportRequest chunks = chunked("", count, size);
    ChangeRequest request;
    request.id = id;
    request.kind = kind;
    request.first = first;
    request.total_chunks = count;
    request.total_size = count * size;
    request.distinct_handles = count;
    request.chunks = std::move(chunks.chunks);
    request.handles = std::move(chunks.handles);
    return request;
  }
  ChangeRequest append(ExportId id, std::size_t count) {
    return change(id, ChangeRequest::Kind::kAppend, count);
  }
  Exported done(ChangeRequest request) {
    const ReplyBody body = ask(owner, std::move(request));
    if (const auto* out = std::get_if<Exported>(&body)) return *out;
    ADD_FAILURE() << error_of(body).message;
    return {};
  }
  Refreshed refreshed(LeaseId lease, std::uint64_t have) {
    const ReplyBody body = ask(holder, RefreshRequest{lease, have, {}});
    if (const auto* out = std::get_if<Refreshed>(&body)) return *out;
    ADD_FAILURE() << error_of(body).message;
    return {};
  }
  // The handles of the request are closed, and nothing else changed.
  void expect_refused(ChangeRequest request, hb_status status, std::uint64_t chunk, const std::string& why) {
    const std::vector<HandleFacts> brought = request.handles;
    const Counters before = counters();
    const ReplyBody body = ask(owner, std::move(request));
    EXPECT_EQ(status_of(body), status) << error_of(body).message;
    EXPECT_EQ(error_of(body).chunk, chunk) << error_of(body).message;
    EXPECT_THAT(error_of(body).message, HasSubstr(why));
    for (const HandleFacts& handle : brought) EXPECT_TRUE(is_closed(handle.id));
    EXPECT_EQ(counters().allocations, before.allocations);
    EXPECT_EQ(counters().stagings, before.stagings);
  }
};

TEST_F(ChangeTest, AppendKeepsTheKeyAndFollowersLearnOfItByOneBit) {
  const Exported made = exported(owner, growing(1, 8));
  EXPECT_EQ(decode_key(made.key).length, UINT64_MAX);
  const Acquired all = acquired(holder, by_key(made.key));
  const Acquired named = acquired(holder, by_name("kv"));
  const Acquired part = acquired(holder, ranged(by_key(made.key), 0, 4096));
  EXPECT_TRUE(all.follows);
  EXPECT_FALSE(part.follows);
  const Exported after = done(append(made.id, 3));
  EXPECT_EQ(after.layout_version, made.layout_version + 1);
  EXPECT_EQ(after.key, made.key);
  EXPECT_EQ(after.size, 4u * 4096);
  EXPECT_TRUE(after.complete);
  EXPECT_EQ(word(holder, all.validity_slot), all.validity_value | 1);
  EXPECT_EQ(word(holder, named.validity_slot), named.validity_value | 1);
  EXPECT_EQ(word(holder, part.validity_slot), part.validity_value);
  // The old layout is still given whole under the old lease.
  EXPECT_EQ(status_of(ask(holder, FetchRequest{all.lease, 0, 1})), HB_OK);
  EXPECT_EQ(status_of(ask(holder, FetchRequest{all.lease, 1, 1})), HB_RANGE);
  const Acquired late = acquired(connect(1000), by_key(made.key));
  EXPECT_EQ(late.length, 4u * 4096);
  EXPECT_EQ(late.chunk_count, 4u);
}

TEST_F(ChangeTest, ARefreshTellsWhatIsNewAndIsCurrentAgain) {
  const Exported made = exported(owner, growing(2, 8));
  const Acquired got = acquired(holder, ranged(by_key(made.key), 4096, 0));
  done(append(made.id, 1));
  const Refreshed after = refreshed(got.lease, 1);
  EXPECT_EQ(after.grant.offset, 4096u);
  EXPECT_EQ(after.grant.length, 2u * 4096);
  EXPECT_EQ(after.grant.first_chunk, 1u);
  EXPECT_EQ(after.grant.chunk_count, 2u);
  EXPECT_TRUE(after.changed.empty());
  EXPECT_TRUE(after.grant.page.handles.empty());
  EXPECT_EQ(after.grant.validity_slot, got.validity_slot);
  EXPECT_NE(after.grant.validity_value, got.validity_value);
  EXPECT_EQ(after.grant.validity_value % 2, 0u);
  EXPECT_EQ(word(holder, got.validity_slot), after.grant.validity_value);
  EXPECT_EQ(status_of(ask(holder, FetchRequest{got.lease, 2, 1})), HB_OK);
}

TEST_F(ChangeTest, ReplacedChunksAreStaleToWhoHasThemAndToNobodyElse) {
  const Exported made = exported(owner, chunked("kv", 3, 4096));
  const Acquired all = acquired(holder, by_key(made.key));
  const Acquired first = acquired(holder, ranged(by_key(made.key), 0, 4096));
  ChangeRequest request = change(made.id, ChangeRequest::Kind::kReplace, 1, 1);
  const std::size_t open = open_handles();
  const Exported after = done(std::move(request));
  EXPECT_EQ(open_handles(), open - 1);  // the old one's
  EXPECT_EQ(after.layout_version, made.layout_version + 1);
  EXPECT_EQ(after.size, made.size);
  EXPECT_EQ(after.key, made.key);
  EXPECT_EQ(word(holder, all.validity_slot), 0u);
  EXPECT_EQ(word(holder, first.validity_slot), first.validity_value);
  EXPECT_EQ(status_of(ask(holder, FetchRequest{all.lease, 0, 1})), HB_STALE);
  EXPECT_EQ(status_of(ask(holder, FetchRequest{first.lease, 0, 1})), HB_OK);
  const Refreshed again = refreshed(all.lease, 1);
  ASSERT_EQ(again.changed.size(), 1u);
  EXPECT_EQ(again.changed[0].first, 1u);
  EXPECT_EQ(again.changed[0].count, 1u);
  EXPECT_EQ(word(holder, all.validity_slot), again.grant.validity_value);
  EXPECT_EQ(status_of(ask(holder, FetchRequest{all.lease, 1, 1})), HB_OK);
}

TEST_F(ChangeTest, GrowthAndReplacementAddUpForWhoWasAway) {
  const Exported made = exported(owner, growing(2, 8));
  const Acquired got = acquired(holder, by_key(made.key));
  done(append(made.id, 2));
  done(change(made.id, ChangeRequest::Kind::kReplace, 2, 1));
  EXPECT_EQ(word(holder, got.validity_slot), 0u);
  done(append(made.id, 1));
  EXPECT_EQ(word(holder, got.validity_slot), 0u);  // growth does not make it current
  const Refreshed after = refreshed(got.lease, 1);
  EXPECT_EQ(after.grant.exported.layout_version, 4u);
  EXPECT_EQ(after.grant.chunk_count, 5u);
  ASSERT_EQ(after.changed.size(), 1u);
  EXPECT_EQ(after.changed[0].first, 1u);
}

TEST_F(ChangeTest, APagedChangeTakesEffectWithItsLastPage) {
  const Exported made = exported(owner, growing(1, 8));
  const Acquired got = acquired(holder, by_key(made.key));
  ChangeRequest request = append(made.id, 2);
  request.total_chunks = 3;
  request.total_size = 3 * 4096;
  request.distinct_handles = 3;
  EXPECT_FALSE(done(std::move(request)).complete);
  EXPECT_EQ(word(holder, got.validity_slot), got.validity_value);
  EXPECT_EQ(acquired(holder, by_key(made.key)).chunk_count, 1u);
  expect_refused(append(made.id, 1), HB_BUSY, 0, "being sent");
  ExportRequest last = chunked("", 1, 4096);
  const ReplyBody body = ask(owner, ExportChunksRequest{made.id, 2, last.chunks, last.handles});
  ASSERT_EQ(status_of(body), HB_OK) << error_of(body).message;
  EXPECT_TRUE(std::get<Exported>(body).complete);
  EXPECT_EQ(acquired(holder, by_key(made.key)).chunk_count, 4u);
  EXPECT_EQ(counters().stagings, 0u);
}

TEST_F(ChangeTest, HalfAChangeGoesWithAnAbortTheOwnerAndTheExport) {
  const Exported made = exported(owner, growing(1, 8));
  const auto half = [&](ExportId id) {
    ChangeRequest request = append(id, 1);
    request.total_chunks = 2;
    request.total_size = 2 * 4096;
    request.distinct_handles = 2;
    done(std::move(request));
    EXPECT_EQ(counters().stagings, 1u);
  };
  half(made.id);
  EXPECT_EQ(status_of(ask(owner, ExportAbortRequest{made.id})), HB_OK);
  EXPECT_EQ(counters().stagings, 0u);
  EXPECT_EQ(open_handles(), 1u);
  EXPECT_EQ(acquired(holder, by_key(made.key)).chunk_count, 1u);  // the export is as it was
  half(made.id);
  ask(owner, WithdrawRequest{made.id, false});
  EXPECT_EQ(counters().stagings, 0u);
  EXPECT_EQ(open_handles(), 0u);
  half(exported(owner, growing(1, 8)).id);
  disconnect(owner);
  EXPECT_EQ(counters().stagings, 0u);
  EXPECT_EQ(open_handles(), 0u);
}

TEST_F(ChangeTest, WhatDoesNotFitIsNamedAndLeavesNoTrace) {
  const Exported made = exported(owner, growing(2, 4));
  expect_refused(append(made.id, 3), HB_RANGE, 0, "maximum");
  ChangeRequest other = append(made.id, 2);
  other.handles[1] = driver_handle();
  other.chunks[1].object_size = 4096;
  // The memfd it stood for was never given.
  expect_refused(std::move(other), HB_MIXED, 4, "in an export of kind");
  ChangeRequest elsewhere = append(made.id, 1);
  elsewhere.device.uuid = "GPU-1";
  expect_refused(std::move(elsewhere), HB_MIXED, 3, "GPU-1");
  expect_refused(change(made.id, ChangeRequest::Kind::kReplace, 1, 1, 8192), HB_MISMATCH, 2, "8192");
  expect_refused(change(made.id, ChangeRequest::Kind::kReplace, 2, 1), HB_RANGE, 0, "the export has 2");
  expect_refused(change(made.id, ChangeRequest::Kind::kReplace, 1, UINT64_MAX), HB_RANGE, 0, "has 2");
  expect_refused(change(made.id, ChangeRequest::Kind::kResume, 2), HB_INVALID, 0, "not suspended");
  expect_refused(change(made.id, ChangeRequest::Kind::kNone, 1), HB_UNSUPPORTED, 0, "not known");
  const Exported fixed = exported(owner, simple("fixed"));
  expect_refused(append(fixed.id, 1), HB_UNSUPPORTED, 0, "max_bytes");
  EXPECT_EQ(acquired(holder, by_key(made.key)).exported.layout_version, 1u) << "nothing was changed";
}

TEST_F(ChangeTest, OnlyTheOwningSessionChangesAnExport) {
  const Exported made = exported(owner, growing(1, 8));
  for (const SessionId other : {holder, connect(1001)}) {
    ChangeRequest request = append(made.id, 1);
    const HandleId brought = request.handles[0].id;
    const hb_status status = status_of(ask(other, std::move(request)));
    EXPECT_TRUE(status == HB_DENIED || status == HB_NOT_FOUND) << status;
    EXPECT_TRUE(is_closed(brought));
  }
}

TEST_F(ChangeTest, SealedStaysSealedAndAReaderIsNotGivenLess) {
  ExportRequest sealed = growing(1, 8);
  sealed.handles[0].sealed = true;
  const Exported made = exported(owner, std::move(sealed));
  expect_refused(append(made.id, 1), HB_LEVEL, 2, "sealed");
  ChangeRequest more = append(made.id, 1);
  more.handles[0].sealed = true;
  done(std::move(more));
  EXPECT_EQ(acquired(holder, by_key(made.key)).level, Level::kSealed);
}

TEST_F(ChangeTest, MoreThanTheBudgetOfDescriptorsIsRefusedWhole) {
  BrokerConfig config = default_config();
  config.fd_limit = 128;
  BrokerDriver small(config);
  const SessionId session = small.connect(1000);
  ExportRequest request = small.chunked("kv", 1, 4096);
  request.max_size = 1'000'000;
  const Exported made = small.exported(session, std::move(request));
  ExportRequest chunks = small.chunked("", 200, 4096);
  ChangeRequest change;
  change.id = made.id;
  change.kind = ChangeRequest::Kind::kAppend;
  change.total_chunks = 200;
  change.total_size = 200 * 4096;
  change.distinct_handles = 200;
  change.chunks = chunks.chunks;
  change.handles = chunks.handles;
  EXPECT_EQ(status_of(small.ask(session, change)), HB_NO_FDS);
  EXPECT_EQ(small.open_handles(), 1u);
}

}  // namespace
}  // namespace hb::test
