// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// A group after its meeting: barriers, growth, and how it ends.
#include "unit/core/group_driver.h"

namespace hb::test {
namespace {

using namespace core;

class GroupRoundsTest : public testing::Test, public GroupDriver {
 protected:
  std::vector<Rank> all = ranks(3);
  // Met and mapped.
  void open() {
    join_all(all);
    ready_all(all);
  }
  void release_all(const Rank& rank) {
    for (const LeaseId lease : rank.leases) send(rank.session, ReleaseRequest{lease});
  }
};

TEST_F(GroupRoundsTest, ReadyIsAnsweredWhenAllHaveMapped) {
  join_all(all);
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    all[rank].request = send(all[rank].session, ready(all[rank]));
    EXPECT_TRUE(effects.empty());
  }
  all[2].request = send(all[2].session, ready(all[2]));
  for (const Rank& rank : all) {
    ASSERT_NE(reply_of(rank), nullptr);
    EXPECT_TRUE(std::holds_alternative<GroupReady>(reply_of(rank)->body));
  }
}

TEST_F(GroupRoundsTest, TheFirstFailureOfMappingGoesToAll) {
  join_all(all);
  all[0].request = send(all[0].session, ready(all[0]));
  ReadyRequest bad = ready(all[1]);
  bad.status = HB_ADDRESS;
  bad.message = "0x7000 is taken by libfoo.so";
  all[1].request = send(all[1].session, bad);
  expect_all_refused({all[0], all[1]}, HB_ADDRESS, {"rank 1 (pid 101): 0x7000 is taken by libfoo.so"});
  all[2].request = send(all[2].session, ready(all[2]));
  expect_all_refused({all[2]}, HB_ADDRESS, {"rank 1 (pid 101): 0x7000 is taken by libfoo.so"});
  for (const Rank& rank : all) {
    release_all(rank);
    send(rank.session, LeaveRequest{rank.group});
  }
  expect_no_trace();
}

TEST_F(GroupRoundsTest, AFailedGroupGivesItsNameFreeAtOnce) {
  join_all(all);
  ReadyRequest bad = ready(all[1]);
  bad.status = HB_NO_MEMORY;
  send(all[1].session, bad);
  auto again = ranks(3);
  join_all(again);
  for (const Rank& rank : again) EXPECT_TRUE(rank.group);
  EXPECT_EQ(counters().groups, 2u);
}

TEST_F(GroupRoundsTest, ARankThatDoesNotReportIsNamedAtTheDeadline) {
  join_all(all);
  all[0].request = send(all[0].session, ready(all[0]));
  all[2].request = send(all[2].session, ready(all[2]));
  advance(10 * kSecond);
  expect_all_refused({all[0], all[2]}, HB_TIMEOUT, {"2 of 3 ranks reported", "missing: rank 1 (pid 101)"});
  EXPECT_EQ(status_of(ask(all[1].session, ready(all[1]))), HB_TIMEOUT);
}

TEST_F(GroupRoundsTest, ADeathAfterTheExchangeEndsTheGroupForAll) {
  join_all(all);
  all[0].request = send(all[0].session, ready(all[0]));
  disconnect(all[1].session);
  expect_all_refused({all[0]}, HB_GONE, {"rank 1 (pid 101) died"});
  const ReplyBody late = ask(all[2].session, ready(all[2]));
  EXPECT_EQ(status_of(late), HB_GONE);
  EXPECT_NE(error_of(late).message.find("rank 1 (pid 101) died"), std::string::npos);
  for (const Rank& rank : {all[0], all[2]}) {
    release_all(rank);
    send(rank.session, LeaveRequest{rank.group});
  }
  expect_no_trace();
}

TEST_F(GroupRoundsTest, ADeathInAnOpenGroupIsToldAtTheNextStep) {
  open();
  disconnect(all[1].session);
  EXPECT_EQ(counters().groups, 1u);
  const ReplyBody told = ask(all[0].session, append(all[0], 1));
  EXPECT_EQ(status_of(told), HB_GONE);
  EXPECT_NE(error_of(told).message.find("rank 1 (pid 101) died"), std::string::npos);
}

TEST_F(GroupRoundsTest, LeavingEndsTheGroupForTheOthersAndTheLastClearsIt) {
  open();
  all[0].request = send(all[0].session, append(all[0], 1));
  send(all[1].session, LeaveRequest{all[1].group});
  expect_all_refused({all[0]}, HB_GONE, {"rank 1 (pid 101) left the group"});
  EXPECT_EQ(status_of(ask(all[1].session, LeaveRequest{all[1].group})), HB_NOT_HELD);
  EXPECT_EQ(status_of(ask(all[1].session, ready(all[1]))), HB_NOT_HELD);
  send(all[0].session, LeaveRequest{all[0].group});
  EXPECT_EQ(counters().groups, 1u);
  send(all[2].session, LeaveRequest{all[2].group});
  EXPECT_EQ(counters().groups, 0u);
}

TEST_F(GroupRoundsTest, AnOfferThatEndsEndsTheGroup) {
  open();
  send(all[2].session, WithdrawRequest{all[2].offer, false});
  const ReplyBody told = ask(all[0].session, append(all[0], 1));
  EXPECT_EQ(status_of(told), HB_GONE);
  EXPECT_NE(error_of(told).message.find("rank 2 (pid 102) ended the export"), std::string::npos);
}

TEST_F(GroupRoundsTest, AppendIsAnsweredWithAllVersionsWhenAllHave) {
  open();
  for (Rank& rank : all) {
    grow(rank);
    rank.request = send(rank.session, append(rank, 1));
    if (&rank != &all.back()) {
      EXPECT_TRUE(effects.empty());
    }
  }
  for (const Rank& rank : all) {
    ASSERT_NE(reply_of(rank), nullptr);
    const auto* versions = std::get_if<GroupAppended>(&reply_of(rank)->body);
    ASSERT_NE(versions, nullptr);
    EXPECT_EQ(versions->layout_versions, (std::vector<std::uint64_t>{2, 2, 2}));
  }
  RefreshRequest refresh;
  refresh.lease = all[0].leases[1];
  refresh.have_version = 1;
  EXPECT_EQ(std::get<Refreshed>(ask(all[0].session, refresh)).grant.length, 8 * kKiB);
  ready_all(all, 1);
  EXPECT_TRUE(std::holds_alternative<GroupReady>(reply_of(all[0])->body));
  for (Rank& rank : all) {
    grow(rank);
    rank.request = send(rank.session, append(rank, 2));
  }
  EXPECT_EQ(std::get<GroupAppended>(reply_of(all[0])->body).layout_versions[1], 3u);
}

TEST_F(GroupRoundsTest, OtherSizesAppendedAreAMismatch) {
  open();
  for (Rank& rank : all) {
    grow(rank, &rank == &all[1] ? 8 * kKiB : 4 * kKiB);
    rank.request = send(rank.session, append(rank, 1));
  }
  expect_all_refused(all, HB_MISMATCH, {"rank 1 (pid 101) offers 8192 bytes as chunk 1", "4096"});
}

TEST_F(GroupRoundsTest, ARankThatCannotAppendTellsTheOthers) {
  open();
  all[0].request = send(all[0].session, append(all[0], 1));
  ReadyRequest bad = ready(all[2], 1);
  bad.status = HB_QUOTA;
  bad.message = "no room";
  all[2].request = send(all[2].session, bad);
  expect_all_refused({all[0], all[2]}, HB_QUOTA, {"rank 2 (pid 102): no room"});
}

TEST_F(GroupRoundsTest, RoundsGoOneByOneAndAPassedOneIsAnsweredAgain) {
  join_all(all);
  EXPECT_EQ(status_of(ask(all[0].session, append(all[0], 1))), HB_INVALID);
  EXPECT_EQ(status_of(ask(all[0].session, ready(all[0], 1))), HB_INVALID);
  ready_all(all);
  EXPECT_EQ(status_of(ask(all[0].session, ready(all[0]))), HB_OK);
  EXPECT_EQ(status_of(ask(all[0].session, append(all[0], 2))), HB_INVALID);
  ReadyRequest late = ready(all[0]);
  late.status = HB_ADDRESS;
  EXPECT_EQ(status_of(ask(all[0].session, late)), HB_INVALID);
  for (Rank& rank : all) rank.request = send(rank.session, append(rank, 1));
  EXPECT_EQ(std::get<GroupAppended>(ask(all[0].session, append(all[0], 1))).layout_versions.size(), 3u);
}

TEST_F(GroupRoundsTest, ARankComesToABarrierOnce) {
  join_all(all);
  all[0].request = send(all[0].session, ready(all[0]));
  EXPECT_EQ(status_of(ask(all[0].session, ready(all[0]))), HB_BUSY);
  EXPECT_EQ(counters().waits, 1u);
}

TEST_F(GroupRoundsTest, ABarrierThatIsNotWaitedForEndsTheGroup) {
  join_all(all);
  ReadyRequest impatient = ready(all[0]);
  impatient.wait_ns = 0;
  all[1].request = send(all[1].session, ready(all[1]));
  all[0].request = send(all[0].session, impatient);
  expect_all_refused({all[0], all[1]}, HB_TIMEOUT, {"2 of 3", "missing: rank 2 (pid 102)"});
}

TEST_F(GroupRoundsTest, ACanceledBarrierEndsTheGroup) {
  join_all(all);
  all[0].request = send(all[0].session, ready(all[0]));
  all[1].request = send(all[1].session, ready(all[1]));
  send_as(all[0].session, 0, CancelRequest{all[0].request});
  expect_all_refused({all[0], all[1]}, HB_CANCELED, {"rank 0 (pid 100)"});
}

TEST_F(GroupRoundsTest, AGroupIsNoOneElses) {
  join_all(all);
  const SessionId stranger = connect_pid(900);
  EXPECT_EQ(status_of(ask(stranger, ready(all[0]))), HB_NOT_HELD);
  EXPECT_EQ(status_of(ask(stranger, append(all[0], 1))), HB_NOT_HELD);
  EXPECT_EQ(status_of(ask(stranger, LeaveRequest{all[0].group})), HB_NOT_HELD);
}

}  // namespace
}  // namespace hb::test
