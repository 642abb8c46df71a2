// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Steps: a number goes round, and who has not taken it is named.
#include <gmock/gmock.h>

#include "core/broker.h"
#include "unit/core/broker_driver.h"
#include "wire/limits.h"

namespace hb::test {
namespace {

using namespace core;
using testing::HasSubstr;

class StepsTest : public testing::Test, public BrokerDriver {
 protected:
  SessionId trainer = connect(1000);
  SessionId first = connect(1000);
  SessionId second = connect(1000);
  Exported weights = exported(trainer, simple("weights"));
  LeaseId of_first = acquired(first, by_name("weights")).lease;
  LeaseId of_second = acquired(second, by_name("weights")).lease;

  void published(std::uint64_t step) {
    EXPECT_EQ(status_of(ask(trainer, PublishRequest{weights.id, step})), HB_OK);
  }
  void acked(SessionId session, LeaseId lease, std::uint64_t step) {
    EXPECT_EQ(status_of(ask(session, AckStepRequest{lease, step})), HB_OK);
  }
  AcksWaited acks(std::uint64_t step) {
    const ReplyBody body = ask(trainer, WaitAcksRequest{weights.id, step, 0});
    EXPECT_EQ(status_of(body), HB_OK) << error_of(body).message;
    return std::holds_alternative<AcksWaited>(body) ? std::get<AcksWaited>(body) : AcksWaited{};
  }
};

TEST_F(StepsTest, WhoWaitsIsAnsweredWhenTheStepIsPublished) {
  send_as(first, 50, WaitStepRequest{of_first, 3, 10 * kSecond});
  EXPECT_EQ(answer_to(first, 50), nullptr);
  published(2);
  EXPECT_EQ(answer_to(first, 50), nullptr);
  published(5);
  ASSERT_NE(answer_to(first, 50), nullptr);
  EXPECT_EQ(std::get<StepWaited>(answer_to(first, 50)->body).step, 5u);
  EXPECT_EQ(counters().waits, 0u);
  // One that is behind is answered at once, with what there is.
  EXPECT_EQ(std::get<StepWaited>(ask(second, WaitStepRequest{of_second, 1, 0})).step, 5u);
}

TEST_F(StepsTest, StepsRise) {
  published(7);
  EXPECT_EQ(status_of(ask(trainer, PublishRequest{weights.id, 7})), HB_INVALID);
  EXPECT_EQ(status_of(ask(trainer, PublishRequest{weights.id, 6})), HB_INVALID);
  EXPECT_EQ(status_of(ask(first, AckStepRequest{of_first, 8})), HB_INVALID);
  EXPECT_EQ(status_of(ask(trainer, WaitAcksRequest{weights.id, 8, 0})), HB_INVALID);
  // An acknowledgement is not taken back by an older one.
  acked(first, of_first, 7);
  acked(first, of_first, 3);
  EXPECT_EQ(acks(7).acked, 1u);
}

TEST_F(StepsTest, APublishSentAgainIsAnsweredAgain) {
  EXPECT_EQ(status_of(ask_as(trainer, 60, PublishRequest{weights.id, 1})), HB_OK);
  EXPECT_EQ(status_of(ask_as(trainer, 60, PublishRequest{weights.id, 1})), HB_OK);
}

TEST_F(StepsTest, TimeAndCancelEndAWait) {
  EXPECT_EQ(status_of(ask(first, WaitStepRequest{of_first, 1, 0})), HB_TIMEOUT);
  send_as(first, 50, WaitStepRequest{of_first, 1, kSecond});
  send_as(second, 51, WaitStepRequest{of_second, 1, 10 * kSecond});
  advance(kSecond);
  ASSERT_NE(answer_to(first, 50), nullptr);
  EXPECT_EQ(status_of(answer_to(first, 50)->body), HB_TIMEOUT);
  EXPECT_THAT(error_of(answer_to(first, 50)->body).message, HasSubstr("step 1"));
  send_as(second, 0, CancelRequest{51});
  ASSERT_NE(answer_to(second, 51), nullptr);
  EXPECT_EQ(status_of(answer_to(second, 51)->body), HB_CANCELED);
}

TEST_F(StepsTest, TheEndOfTheExportEndsEveryWait) {
  published(1);
  send_as(first, 50, WaitStepRequest{of_first, 2, 10 * kSecond});
  send_as(trainer, 60, WaitAcksRequest{weights.id, 1, 10 * kSecond});
  send_as(trainer, 61, WithdrawRequest{weights.id, false, 0});
  EXPECT_EQ(status_of(answer_to(first, 50)->body), HB_GONE);
  EXPECT_EQ(status_of(answer_to(trainer, 60)->body), HB_GONE);
  EXPECT_EQ(status_of(ask(first, WaitStepRequest{of_first, 2, kSecond})), HB_GONE);
  EXPECT_EQ(status_of(ask(trainer, PublishRequest{weights.id, 2})), HB_GONE);
}

// Of an orphan nothing is published, but somebody may claim it and go on.
TEST_F(StepsTest, AWaitOutlivesTheOwnerWhereTheExportDoes) {
  ExportRequest lingering = simple("kv");
  lingering.lifetime = Lifetime::kLinger;
  lingering.linger_ns = 10 * kSecond;
  exported(trainer, std::move(lingering));
  const Acquired held = acquired(first, by_name("kv"));
  send_as(first, 50, WaitStepRequest{held.lease, 1, 100 * kSecond});
  disconnect(trainer);
  EXPECT_EQ(answer_to(first, 50), nullptr);
  const SessionId heir = connect(1000);
  const ReplyBody claimed = ask(heir, ClaimRequest{NameRef{"kv", {}}, Lifetime::kOwner, 0});
  ASSERT_EQ(status_of(claimed), HB_OK);
  send_as(heir, 70, PublishRequest{std::get<Exported>(claimed).id, 1});
  ASSERT_NE(answer_to(first, 50), nullptr);
  EXPECT_EQ(std::get<StepWaited>(answer_to(first, 50)->body).step, 1u);
}

TEST_F(StepsTest, TheTrainerIsAnsweredByTheLastAcknowledgement) {
  published(1);
  send_as(trainer, 60, WaitAcksRequest{weights.id, 1, 10 * kSecond});
  send_as(first, 0, AckStepRequest{of_first, 1});
  EXPECT_EQ(answer_to(trainer, 60), nullptr);
  send_as(second, 0, AckStepRequest{of_second, 1});
  ASSERT_NE(answer_to(trainer, 60), nullptr);
  const auto& answer = std::get<AcksWaited>(answer_to(trainer, 60)->body);
  EXPECT_EQ(answer.acked, 2u);
  EXPECT_TRUE(answer.missing.empty());
  EXPECT_TRUE(answer.left.empty());
}

TEST_F(StepsTest, ADeadEngineLeavesTheSetAndIsNamed) {
  published(1);
  acked(first, of_first, 1);
  send_as(trainer, 60, WaitAcksRequest{weights.id, 1, 10 * kSecond});
  disconnect(second);
  ASSERT_NE(answer_to(trainer, 60), nullptr);
  const auto& answer = std::get<AcksWaited>(answer_to(trainer, 60)->body);
  EXPECT_EQ(answer.acked, 1u);
  EXPECT_TRUE(answer.missing.empty());
  ASSERT_EQ(answer.left.size(), 1u);
  EXPECT_EQ(answer.left[0].lease, of_second);
  EXPECT_EQ(answer.left[0].session.id, second);
  ASSERT_NE(answer.left[0].session.process, nullptr);
  EXPECT_EQ(answer.left[0].session.process->pid, 71'000u);
  // With the next step it is no longer one of those that are waited for.
  published(2);
  acked(first, of_first, 2);
  EXPECT_TRUE(acks(2).left.empty());
}

TEST_F(StepsTest, AtTheDeadlineThoseWhoAreMissingAreNamed) {
  published(1);
  acked(first, of_first, 1);
  send_as(trainer, 60, WaitAcksRequest{weights.id, 1, kSecond});
  advance(kSecond);
  ASSERT_NE(answer_to(trainer, 60), nullptr);
  const auto& answer = std::get<AcksWaited>(answer_to(trainer, 60)->body);
  EXPECT_EQ(answer.acked, 1u);
  ASSERT_EQ(answer.missing.size(), 1u);
  EXPECT_EQ(answer.missing[0].lease, of_second);
  EXPECT_EQ(answer.missing[0].acked_step, 0u);
}

TEST_F(StepsTest, WhoComesAfterAStepHasIt) {
  published(4);
  acked(first, of_first, 4);
  acked(second, of_second, 4);
  const SessionId late = connect(1000);
  const LeaseId lease = acquired(late, by_name("weights")).lease;
  EXPECT_EQ(acks(4).acked, 3u);
  published(5);
  EXPECT_EQ(acks(5).missing.size(), 3u);
  acked(late, lease, 5);
  EXPECT_EQ(acks(5).missing.size(), 2u);
}

TEST_F(StepsTest, OnlyTheOwnerPublishesAndWaits) {
  EXPECT_EQ(status_of(ask(first, PublishRequest{weights.id, 1})), HB_DENIED);
  EXPECT_EQ(status_of(ask(first, WaitAcksRequest{weights.id, 0, 0})), HB_DENIED);
  EXPECT_EQ(status_of(ask(connect(1001), PublishRequest{weights.id, 1})), HB_NOT_FOUND);
  EXPECT_EQ(status_of(ask(first, WaitStepRequest{of_second, 1, 0})), HB_NOT_HELD);
  EXPECT_EQ(status_of(ask(first, AckStepRequest{of_second, 0})), HB_NOT_HELD);
}

TEST_F(StepsTest, ListsOfTheMissingAndTheLeftAreBoundedAndSaySo) {
  std::vector<SessionId> crowd;
  for (std::size_t i = 0; i < limits::kListEntries + 2; ++i) {
    crowd.push_back(connect(1000));
    acquired(crowd.back(), by_name("weights"));
  }
  published(1);
  AcksWaited answer = acks(1);
  EXPECT_EQ(answer.missing.size(), limits::kListEntries);
  EXPECT_TRUE(answer.more_missing);
  EXPECT_FALSE(answer.more_left);
  for (std::size_t i = 0; i < limits::kListEntries; ++i) disconnect(crowd[i]);
  answer = acks(1);
  EXPECT_EQ(answer.missing.size(), 4u);
  EXPECT_FALSE(answer.more_missing);
  EXPECT_EQ(answer.left.size(), limits::kListEntries);
  EXPECT_FALSE(answer.more_left);
  disconnect(crowd[limits::kListEntries]);
  answer = acks(1);
  EXPECT_EQ(answer.left.size(), limits::kListEntries);
  EXPECT_TRUE(answer.more_left);
  published(2);
  EXPECT_FALSE(acks(2).more_left);
}

TEST_F(StepsTest, AReleasedLeaseWaitsForNoStep) {
  send_as(first, 50, WaitStepRequest{of_first, 3, kNever});
  send_as(second, 51, WaitStepRequest{of_second, 3, kNever});
  send(first, ReleaseRequest{of_first});
  ASSERT_NE(answer_to(first, 50), nullptr);
  EXPECT_EQ(error_of(answer_to(first, 50)->body).status, HB_NOT_HELD);
  EXPECT_EQ(counters().waits, 1u);  // the other one's is another lease
}

TEST_F(StepsTest, EveryWaitCountsItsOwnStep) {
  published(1);
  published(2);
  send_as(trainer, 50, WaitAcksRequest{weights.id, 1, kNever});
  send_as(trainer, 51, WaitAcksRequest{weights.id, 2, kNever});
  acked(first, of_first, 1);
  acked(first, of_first, 1);  // no second time
  send(second, AckStepRequest{of_second, 2});
  EXPECT_NE(answer_to(trainer, 50), nullptr);
  EXPECT_EQ(answer_to(trainer, 51), nullptr);
  send(first, ReleaseRequest{of_first});
  EXPECT_NE(answer_to(trainer, 51), nullptr);
  EXPECT_EQ(counters().waits, 0u);
}

// Each is answered with a list: all at once must fit into what a session may have unread.
TEST_F(StepsTest, WaitsForHoldersAreFew) {
  published(1);
  for (std::size_t i = 0; i < limits::kSessionListWaits; ++i)
    send(trainer, WaitAcksRequest{weights.id, 1, kNever});
  const ReplyBody one_more = ask(trainer, WaitAcksRequest{weights.id, 1, kNever});
  EXPECT_EQ(status_of(one_more), HB_QUOTA);
  EXPECT_EQ(error_of(one_more).what, "waits for holders");
  EXPECT_EQ(error_of(one_more).limit, limits::kSessionListWaits);
}

}  // namespace
}  // namespace hb::test
