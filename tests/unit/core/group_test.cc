// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// The meeting of a group's ranks: all get all, or all get the same error.
#include "unit/core/group_driver.h"
#include "wire/limits.h"

namespace hb::test {
namespace {

using namespace core;

class GroupTest : public testing::Test, public GroupDriver {};

TEST_F(GroupTest, AllGetALeaseOnWhatEachOtherOffers) {
  auto all = ranks(3, 2);
  send_join(all[0], join(all[0], 0, 3));
  EXPECT_TRUE(effects.empty());
  send_join(all[2], join(all[2], 2, 3));
  EXPECT_EQ(counters().groups, 1u);
  EXPECT_EQ(counters().waits, 2u);
  send_join(all[1], join(all[1], 1, 3));
  EXPECT_EQ(counters().leases, 6u);
  EXPECT_EQ(counters().waits, 0u);
  for (std::uint32_t self = 0; self < 3; ++self) {
    const Joined* in = joined(all[self]);
    ASSERT_NE(in, nullptr);
    ASSERT_EQ(in->members.size(), 3u);
    for (std::uint32_t rank = 0; rank < 3; ++rank) {
      const Joined::Member& member = in->members[rank];
      EXPECT_EQ(member.exported, all[rank].offer);
      EXPECT_EQ(member.session.process->pid, 100 + rank);
      ASSERT_EQ(member.grant.has_value(), rank != self);
      if (rank == self) continue;
      EXPECT_EQ(member.grant->length, 8 * kKiB);
      EXPECT_EQ(member.grant->access, Access::kReadWrite);
      EXPECT_TRUE(member.grant->follows);
      EXPECT_EQ(member.grant->page.handles.size(), 2u);
      EXPECT_EQ(word(all[self].session, member.grant->validity_slot), member.grant->validity_value);
    }
  }
}

TEST_F(GroupTest, ARankAloneIsAGroupAtOnce) {
  auto all = ranks(1);
  JoinRequest request = join(all[0], 0, 1);
  request.wait_ns = 0;
  send_join(all[0], request);
  ASSERT_NE(joined(all[0]), nullptr);
  ask(all[0].session, LeaveRequest{all[0].group});
  expect_no_trace();
}

TEST_F(GroupTest, HandlesOfAllMembersTogetherFitOneFrameInRankOrder) {
  auto all = ranks(5, 64);
  join_all(all);
  const Joined* in = joined(all[0]);
  ASSERT_NE(in, nullptr);
  EXPECT_EQ(in->members[1].grant->page.handles.size(), 64u);
  EXPECT_EQ(in->members[3].grant->page.handles.size(), 64u);
  EXPECT_EQ(in->members[4].grant->page.handles.size(), 253u - 3 * 64);
  // The rest comes by the lease.
  const Acquired& last = *in->members[4].grant;
  const ReplyBody rest = ask(all[0].session, FetchRequest{last.lease, 61, 253});
  EXPECT_EQ(std::get<Fetched>(rest).page.handles.size(), 3u);
}

TEST_F(GroupTest, ARankMayAskForFewHandles) {
  auto all = ranks(3, 4);
  for (std::uint32_t rank = 0; rank < 3; ++rank) {
    JoinRequest request = join(all[rank], rank, 3);
    request.max_handles = 5;
    send_join(all[rank], std::move(request));
  }
  const Joined* in = joined(all[2]);
  ASSERT_NE(in, nullptr);
  EXPECT_EQ(in->members[0].grant->page.handles.size(), 4u);
  EXPECT_EQ(in->members[1].grant->page.handles.size(), 1u);
}

TEST_F(GroupTest, WhatDoesNotFitTheFrameIsGrantedInBrief) {
  std::vector<Rank> all(40);
  for (std::uint32_t rank = 0; rank < all.size(); ++rank) {
    all[rank].session = connect_pid(100 + rank);
    ExportRequest request = simple("");
    request.metadata.assign(limits::kMetadataBytes, 'm');
    all[rank].offer = exported(all[rank].session, std::move(request)).id;
  }
  join_all(all);
  const Joined* in = joined(all[39]);
  ASSERT_NE(in, nullptr);
  EXPECT_EQ(in->members[0].grant->exported.metadata->size(), limits::kMetadataBytes);
  const Acquired& brief = *in->members[38].grant;
  EXPECT_EQ(brief.chunk_count, 0u);
  EXPECT_EQ(brief.exported.id, all[38].offer);
  RefreshRequest refresh;
  refresh.lease = brief.lease;
  EXPECT_EQ(std::get<Refreshed>(ask(all[39].session, refresh)).grant.chunk_count, 1u);
}

TEST_F(GroupTest, B19_TheOddSizeIsNamedToAllAndNothingIsLeft) {
  auto all = ranks(8, 1, kGiB);
  all[5].offer = offer(all[5].session, 1, kGiB / 2);
  join_all(all);
  expect_all_refused(all, HB_MISMATCH,
                     {"group \"job/heap\"", "rank 5 (pid 105) offers 536870912 bytes", "1073741824"});
  EXPECT_EQ(error(all[0]).used, kGiB / 2);
  EXPECT_EQ(error(all[0]).limit, kGiB);
  EXPECT_EQ(error(all[0]).who, "rank 5 (pid 105)");
  expect_no_trace();
}

TEST_F(GroupTest, TheOddRankIsNamedEvenIfItIsTheFirst) {
  auto all = ranks(4);
  all[0].offer = offer(all[0].session, 2);
  join_all(all);
  expect_all_refused(all, HB_MISMATCH, {"rank 0 (pid 100) offers 8192 bytes in 2 chunks", "in 1 chunks"});
}

TEST_F(GroupTest, LayoutsMayDifferWhereAllSaySo) {
  auto all = ranks(2);
  all[1].offer = offer(all[1].session, 3, 8 * kKiB);
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    JoinRequest request = join(all[rank], rank, 2);
    request.any_layout = true;
    send_join(all[rank], std::move(request));
  }
  ASSERT_NE(joined(all[1]), nullptr);
  EXPECT_EQ(joined(all[0])->members[1].grant->length, 24 * kKiB);
}

TEST_F(GroupTest, AnotherAgreementIsAMismatch) {
  auto all = ranks(3);
  for (std::uint32_t rank = 0; rank < 3; ++rank) {
    JoinRequest request = join(all[rank], rank, 3);
    request.agreement = rank == 1 ? "bf16" : "fp8";
    send_join(all[rank], std::move(request));
  }
  expect_all_refused(all, HB_MISMATCH, {"rank 1 (pid 101) agrees to \"bf16\"", "\"fp8\""});
  expect_no_trace();
}

TEST_F(GroupTest, AnotherKindOfHandleIsAMismatch) {
  auto all = ranks(2);
  HandleFacts dmabuf = memfd(4 * kKiB);
  dmabuf.kind = HandleKind::kDmaBuf;
  ExportRequest request;
  request.kind = HandleKind::kDmaBuf;
  request.total_chunks = request.distinct_handles = 1;
  request.total_size = 4 * kKiB;
  NewChunk chunk;
  chunk.handle = 0;
  chunk.size = 4 * kKiB;
  request.chunks = {chunk};
  request.handles = {dmabuf};
  all[1].offer = exported(all[1].session, std::move(request)).id;
  join_all(all);
  expect_all_refused(all, HB_MISMATCH, {"rank 1 (pid 101)", "dma-buf", "memfd"});
}

TEST_F(GroupTest, AnotherWorldIsAMismatchOnceTheMostRanksThinkAllAreThere) {
  auto all = ranks(4);
  for (std::uint32_t rank = 0; rank < 4; ++rank)
    send_join(all[rank], join(all[rank], rank, rank == 1 ? 3 : 4));
  expect_all_refused(all, HB_MISMATCH, {"rank 1 (pid 101) says 3 ranks", "says 4 ranks"});
  expect_no_trace();
}

TEST_F(GroupTest, AnotherWorldIsNamedAtTheDeadlineToo) {
  auto all = ranks(2);
  send_join(all[0], join(all[0], 0, 8));
  send_join(all[1], join(all[1], 1, 7));
  advance(10 * kSecond);
  expect_all_refused(all, HB_MISMATCH, {"rank 1 (pid 101) says 7 ranks", "says 8 ranks"});
}

TEST_F(GroupTest, B19_MissingRanksAreNamedAtTheEarliestDeadline) {
  auto all = ranks(8);
  for (std::uint32_t rank = 0; rank < 8; ++rank) {
    if (rank == 3) continue;
    JoinRequest request = join(all[rank], rank, 8);
    if (rank == 6) request.wait_ns = 2 * kSecond;
    send_join(all[rank], std::move(request));
  }
  advance(2 * kSecond - 1);
  EXPECT_TRUE(effects.empty());
  advance(1);
  all.erase(all.begin() + 3);
  expect_all_refused(all, HB_TIMEOUT, {"7 of 8 ranks", "missing: rank 3"});
  EXPECT_EQ(error(all[0]).used, 7u);
  EXPECT_EQ(error(all[0]).limit, 8u);
  expect_no_trace();
}

TEST_F(GroupTest, ManyMissingRanksAreCounted) {
  auto all = ranks(1);
  send_join(all[0], join(all[0], 0, 64));
  advance(10 * kSecond);
  expect_all_refused(all, HB_TIMEOUT, {"1 of 64", "rank 16 and 47 more"});
}

TEST_F(GroupTest, WhoDoesNotWaitAndIsNotTheLastIsNeverThere) {
  auto all = ranks(3);
  JoinRequest request = join(all[0], 0, 3);
  request.wait_ns = 0;
  send_join(all[0], request);
  EXPECT_EQ(error(all[0]).status, HB_TIMEOUT);
  expect_no_trace();
  send_join(all[1], join(all[1], 1, 3));
  send_join(all[0], request);
  EXPECT_EQ(error(all[0]).status, HB_TIMEOUT);
  EXPECT_NE(error(all[0]).message.find("missing: rank 2"), std::string::npos) << error(all[0]).message;
  EXPECT_EQ(reply_of(all[1]), nullptr);
  send_join(all[2], join(all[2], 2, 3));
  send_join(all[0], request);
  EXPECT_NE(joined(all[0]), nullptr);
  EXPECT_NE(joined(all[1]), nullptr);
}

TEST_F(GroupTest, ARankThatDiesIsNamedToTheOthers) {
  auto all = ranks(3);
  send_join(all[0], join(all[0], 0, 3));
  send_join(all[1], join(all[1], 1, 3));
  disconnect(all[0].session);
  expect_all_refused({all[1]}, HB_GONE, {"rank 0 (pid 100) died"});
  expect_no_trace();
}

TEST_F(GroupTest, AnOfferThatEndsIsNamedToAll) {
  auto all = ranks(3);
  send_join(all[0], join(all[0], 0, 3));
  send_join(all[1], join(all[1], 1, 3));
  send(all[1].session, WithdrawRequest{all[1].offer, false});
  expect_all_refused({all[0], all[1]}, HB_GONE, {"rank 1 (pid 101) ended the export it offers (withdrawn)"});
  expect_no_trace();
}

TEST_F(GroupTest, AnOfferThatSleepsIsNamedToAll) {
  auto all = ranks(2);
  send_join(all[0], join(all[0], 0, 2));
  EXPECT_EQ(status_of(ask(all[0].session, SuspendRequest{all[0].offer, 0})), HB_OK);
  send_join(all[1], join(all[1], 1, 2));
  EXPECT_EQ(error(all[1]).status, HB_MISMATCH);  // it has no chunks
  expect_no_trace();
}

TEST_F(GroupTest, ACanceledJoinEndsTheMeetingForAll) {
  auto all = ranks(3);
  send_join(all[0], join(all[0], 0, 3));
  send_join(all[1], join(all[1], 1, 3));
  send_as(all[1].session, 0, CancelRequest{all[1].request});
  expect_all_refused({all[0], all[1]}, HB_CANCELED, {"rank 1 (pid 101) took its request back"});
  expect_no_trace();
}

TEST_F(GroupTest, ARankThatIsHeldNamesItsPidToTheNewcomerAlone) {
  auto all = ranks(2);
  auto late = ranks(2);
  send_join(all[0], join(all[0], 0, 2));
  send_join(late[0], join(late[0], 0, 2));
  EXPECT_EQ(error(late[0]).status, HB_EXISTS);
  EXPECT_NE(error(late[0]).message.find("held by pid 100"), std::string::npos) << error(late[0]).message;
  send_join(all[1], join(all[1], 1, 2));
  ASSERT_NE(joined(all[0]), nullptr);
  send_join(late[1], join(late[1], 1, 2));
  EXPECT_EQ(error(late[1]).status, HB_EXISTS);
  EXPECT_NE(error(late[1]).message.find("held by pid 101"), std::string::npos) << error(late[1]).message;
}

TEST_F(GroupTest, OneSessionIsOneRank) {
  auto all = ranks(1);
  send_join(all[0], join(all[0], 0, 2));
  send_join(all[0], join(all[0], 1, 2));
  EXPECT_EQ(error(all[0]).status, HB_EXISTS);
  EXPECT_NE(error(all[0]).message.find("rank 0"), std::string::npos);
}

TEST_F(GroupTest, AHigherAttemptEndsTheMeetingOfAnOlderOne) {
  auto old = ranks(2);
  send_join(old[0], join(old[0], 0, 2));
  auto all = ranks(2);
  JoinRequest request = join(all[1], 1, 2);
  request.attempt = 1;
  send_join(all[1], request);
  expect_all_refused({old[0]}, HB_REPLACED, {"attempt 0 is over, attempt 1"});
  send_join(old[1], join(old[1], 1, 2));
  expect_all_refused({old[1]}, HB_REPLACED, {"attempt 0 is over, attempt 1"});
  EXPECT_EQ(counters().groups, 1u);
}

TEST_F(GroupTest, AHigherAttemptEndsAGroupThatMet) {
  auto old = ranks(2);
  join_all(old);
  ready_all(old);
  auto all = ranks(2);
  old[0].request = send(old[0].session, append(old[0], 1));
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    JoinRequest request = join(all[rank], rank, 2);
    request.attempt = 7;
    send_join(all[rank], request);
    if (rank == 0) expect_all_refused({old[0]}, HB_REPLACED, {"attempt 0 is over, attempt 7"});
  }
  EXPECT_NE(joined(all[0]), nullptr);
  EXPECT_EQ(status_of(ask(old[1].session, append(old[1], 1))), HB_REPLACED);
  EXPECT_EQ(counters().groups, 2u);
  for (const Rank& rank : old) send(rank.session, LeaveRequest{rank.group});
  EXPECT_EQ(counters().groups, 1u);
}

TEST_F(GroupTest, TheSameNameOfAnotherScopeOrUidNeverMeets) {
  auto all = ranks(2);
  Rank elsewhere;
  elsewhere.session = connect_pid(200, 1000, 9);
  elsewhere.offer = offer(elsewhere.session);
  Rank stranger;
  stranger.session = connect_pid(201, 1001);
  stranger.offer = offer(stranger.session);
  send_join(all[0], join(all[0], 0, 2));
  send_join(elsewhere, join(elsewhere, 1, 2));
  send_join(stranger, join(stranger, 1, 2));
  EXPECT_EQ(counters().groups, 3u);
  send_join(all[1], join(all[1], 1, 2));
  EXPECT_NE(joined(all[0]), nullptr);
  EXPECT_EQ(reply_of(elsewhere), nullptr);
  EXPECT_EQ(reply_of(stranger), nullptr);
}

TEST_F(GroupTest, AnOfferIsAnExportOfTheSessionItself) {
  auto all = ranks(2);
  Rank thief = all[0];
  thief.offer = all[1].offer;
  send_join(thief, join(thief, 0, 2));
  EXPECT_EQ(error(thief).status, HB_DENIED);
  thief.offer = ExportId{};
  send_join(thief, join(thief, 0, 2));
  EXPECT_EQ(error(thief).status, HB_NOT_FOUND);
  expect_no_trace();
}

TEST_F(GroupTest, ReadOnlyOffersAreRefusedToAllWhereOneWantsToWrite) {
  auto all = ranks(2);
  ExportRequest request = simple("");
  request.max_access = Access::kRead;
  all[1].offer = exported(all[1].session, std::move(request)).id;
  join_all(all);
  expect_all_refused(all, HB_READ_ONLY, {"rank 1 (pid 101)"});
  expect_no_trace();
}

TEST_F(GroupTest, BadArgumentsAreNamed) {
  auto all = ranks(1);
  const auto refused = [&](auto change) {
    JoinRequest request = join(all[0], 0, 2);
    change(request);
    send_join(all[0], request);
    return error(all[0]).status;
  };
  EXPECT_EQ(refused([](JoinRequest& r) { r.rank = 2; }), HB_INVALID);
  EXPECT_EQ(refused([](JoinRequest& r) { r.world = 0; }), HB_INVALID);
  EXPECT_EQ(refused([](JoinRequest& r) { r.world = limits::kGroupWorld + 1; }), HB_QUOTA);
  EXPECT_EQ(error(all[0]).limit, limits::kGroupWorld);
  EXPECT_EQ(refused([](JoinRequest& r) { r.name = "a//b"; }), HB_INVALID);
  EXPECT_EQ(refused([](JoinRequest& r) { r.access = Access::kNone; }), HB_INVALID);
  EXPECT_EQ(status_of(ask(connect_admin(), join(all[0], 0, 1))), HB_DENIED);
  expect_no_trace();
}

TEST_F(GroupTest, ASessionIsInSoManyGroupsAndNoMore) {
  auto all = ranks(1);
  JoinRequest request = join(all[0], 0, 1);
  for (std::size_t i = 0; i < limits::kSessionGroups; ++i) {
    request.name = "g" + std::to_string(i);
    EXPECT_EQ(status_of(ask(all[0].session, request)), HB_OK);
  }
  request.name = "one more";
  const ReplyBody refused = ask(all[0].session, request);
  EXPECT_EQ(status_of(refused), HB_QUOTA);
  EXPECT_EQ(error_of(refused).limit, limits::kSessionGroups);
  disconnect(all[0].session);
  expect_no_trace();
}

TEST_F(GroupTest, AQuotaOfOneRankUndoesTheLeasesOfAll) {
  auto all = ranks(3);
  const Exported big = exported(all[0].session, simple("big"));
  for (std::uint32_t i = 0; i + 1 < limits::kSessionLeases; ++i) {
    effects.clear();
    broker.apply(all[1].session, 0, 0, by_key(big.key), now, effects);
  }
  const std::uint64_t before = counters().leases;
  join_all(all);
  expect_all_refused(all, HB_QUOTA, {"rank 1 (pid 101)", "leases"});
  EXPECT_EQ(counters().leases, before);
  EXPECT_EQ(counters().groups, 0u);
}

TEST_F(GroupTest, AJoinSentAgainIsAnsweredAgainFromItsLeases) {
  auto all = ranks(2);
  send_join(all[0], join(all[0], 0, 2));
  send_as(all[0].session, all[0].request, join(all[0], 0, 2));
  EXPECT_TRUE(effects.empty());  // it still waits
  send_join(all[1], join(all[1], 1, 2));
  const LeaseId first = joined(all[0])->members[1].grant->lease;
  send_as(all[0].session, all[0].request, join(all[0], 0, 2));
  ASSERT_NE(joined(all[0]), nullptr);
  EXPECT_EQ(joined(all[0])->members[1].grant->lease, first);
  EXPECT_EQ(counters().leases, 2u);
  send(all[0].session, ReleaseRequest{first});
  send_as(all[0].session, all[0].request, join(all[0], 0, 2));
  EXPECT_EQ(error(all[0]).status, HB_NOT_HELD);
}

}  // namespace
}  // namespace hb::test
