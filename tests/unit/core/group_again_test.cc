// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// What ranks may send at a wrong time: to leave a meeting whose id nobody was told, to join again what
// sleeps.
#include <gtest/gtest.h>

#include "unit/core/group_driver.h"

namespace hb::test {
namespace {

using namespace core;

class GroupAgainTest : public testing::Test, public GroupDriver {};

TEST_F(GroupAgainTest, WhoGuessesTheIdOfAMeetingLeavesItAndItEndsForAll) {
  auto all = ranks(2);
  send_join(all[0], join(all[0], 0, 3));
  send_join(all[1], join(all[1], 1, 3));
  EXPECT_EQ(counters().groups, 1u);
  EXPECT_EQ(status_of(ask(all[0].session, LeaveRequest{GroupId::of(0, 1)})), HB_OK);
  EXPECT_EQ(counters().groups, 0u);
  ASSERT_NE(answer_to(all[1].session, all[1].request), nullptr);
  EXPECT_EQ(status_of(answer_to(all[1].session, all[1].request)->body), HB_GONE);
}

TEST_F(GroupAgainTest, AJoinSentAgainWhileAnOfferSleepsIsStale) {
  auto all = ranks(2);
  join_all(all);
  send(all[1].session, SuspendRequest{all[1].offer});
  const ReplyBody again = ask_as(all[0].session, all[0].request, join(all[0], 0, 2));
  EXPECT_EQ(status_of(again), HB_STALE);
}

}  // namespace
}  // namespace hb::test
