// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include <gmock/gmock.h>

#include "core/broker.h"
#include "unit/core/broker_driver.h"
#include "wire/limits.h"

namespace hb::test {
namespace {

using namespace core;

class WaitTest : public testing::Test, public BrokerDriver {
 protected:
  SessionId owner = connect(1000);
  SessionId waiter = connect(1000);
  hb_status late_status(SessionId session, std::uint64_t id) {
    const Reply* reply = answer_to(session, id);
    return reply == nullptr ? 1 : status_of(reply->body);
  }
  static constexpr hb_status kUnanswered = 1;
};

TEST_F(WaitTest, AWaitIsAnsweredWhenTheNameAppears) {
  const std::uint64_t id = send(waiter, waiting(by_name("kv"), 10 * kSecond));
  EXPECT_TRUE(effects.empty());
  EXPECT_EQ(counters().waits, 1u);
  exported(owner, simple("other"));
  EXPECT_EQ(late_status(waiter, id), kUnanswered);
  const Exported out = exported(owner, simple("kv"));
  const Reply* reply = answer_to(waiter, id);
  ASSERT_NE(reply, nullptr);
  EXPECT_EQ(std::get<Acquired>(reply->body).exported.id, out.id);
  EXPECT_EQ(counters().waits, 0u);
  EXPECT_EQ(counters().leases, 1u);
}

TEST_F(WaitTest, TheWordOfTheLeaseIsSetBeforeTheLateAnswer) {
  const std::uint64_t id = send(waiter, waiting(by_name("kv"), kNever));
  exported(owner, simple("kv"));
  std::size_t set = effects.size();
  std::size_t replied = 0;
  for (std::size_t i = 0; i < effects.size(); ++i) {
    if (std::holds_alternative<SetValidity>(effects[i])) set = i;
    const auto* reply = std::get_if<Reply>(&effects[i]);
    if (reply != nullptr && reply->request_id == id && reply->session == waiter) replied = i;
  }
  EXPECT_LT(set, replied);
}

TEST_F(WaitTest, ANameThatIsThereIsAnsweredAtOnce) {
  exported(owner, simple("kv"));
  acquired(waiter, waiting(by_name("kv"), 10 * kSecond));
}

TEST_F(WaitTest, WaitingForAnUnreadableNameIsLikeWaitingForNone) {
  const SessionId stranger = connect(1001);
  exported(owner, simple("kv"));
  const std::uint64_t unreadable = send(stranger, waiting(by_name("kv", 1000), kSecond));
  const std::uint64_t missing = send(stranger, waiting(by_name("kw", 1000), kSecond));
  EXPECT_EQ(counters().waits, 2u);
  advance(kSecond);
  ASSERT_EQ(late_status(stranger, unreadable), HB_TIMEOUT);
  ASSERT_EQ(late_status(stranger, missing), HB_TIMEOUT);
  EXPECT_EQ(error_of(answer_to(stranger, unreadable)->body).message.size(),
            error_of(answer_to(stranger, missing)->body).message.size());
}

TEST_F(WaitTest, OnlyAnExportTheWaiterMayReadEndsTheWait) {
  const SessionId reader = connect(1001);
  const std::uint64_t id = send(reader, waiting(writing(by_name("kv", 1000)), kNever));
  exported(owner, simple("kv"));
  EXPECT_EQ(late_status(reader, id), kUnanswered);
  ask(owner, WithdrawRequest{NameRef{"kv", {}}, false});
  ExportRequest readable = simple("kv");
  readable.acl = {uid_reads(1001)};
  exported(owner, std::move(readable));
  EXPECT_EQ(late_status(reader, id), HB_DENIED);  // it may read, it asked to write
}

TEST_F(WaitTest, APagedExportEndsTheWaitWhenItIsComplete) {
  const std::uint64_t id = send(waiter, waiting(by_name("kv"), kNever));
  ExportRequest first = chunked("kv", 1, 4096);
  first.total_chunks = 2;
  first.total_size = 8192;
  first.distinct_handles = 2;
  const Exported half = exported(owner, std::move(first));
  EXPECT_EQ(late_status(waiter, id), kUnanswered);
  ExportRequest rest = chunked("", 1, 4096);
  ask(owner, ExportChunksRequest{half.id, 1, rest.chunks, rest.handles});
  EXPECT_EQ(late_status(waiter, id), HB_OK);
}

TEST_F(WaitTest, TheDeadlineIsKeptWithAndWithoutATick) {
  const std::uint64_t first = send(waiter, waiting(by_name("a"), 2 * kSecond));
  const std::uint64_t second = send(waiter, waiting(by_name("b"), kSecond));
  EXPECT_EQ(broker.next_deadline(), now + kSecond);
  advance(kSecond - 1);
  EXPECT_TRUE(effects.empty());
  advance(1);
  EXPECT_EQ(late_status(waiter, second), HB_TIMEOUT);
  EXPECT_EQ(broker.next_deadline(), now + kSecond);
  now += kSecond;
  exported(owner, simple("a"));  // too late: the wait is over, whenever the tick comes
  EXPECT_EQ(late_status(waiter, first), HB_TIMEOUT);
  EXPECT_EQ(broker.next_deadline(), kNever);
}

// A timer counts signed nanoseconds: beyond them a deadline would lie in the past and fire for ever.
TEST_F(WaitTest, ADeadlineThatNoTimerCanCountIsNone) {
  for (const std::uint64_t ns : {std::uint64_t{INT64_MAX}, std::uint64_t{1} << 63, UINT64_MAX - 1}) {
    const std::uint64_t id = send(waiter, waiting(by_name("a"), ns));
    EXPECT_EQ(broker.next_deadline(), kNever) << ns;
    EXPECT_EQ(late_status(waiter, id), kUnanswered) << ns;
  }
}

TEST_F(WaitTest, CancelAnswersTheWaiter) {
  const std::uint64_t id = send(waiter, waiting(by_name("kv"), kNever));
  send_as(owner, 0, CancelRequest{id});
  EXPECT_TRUE(effects.empty());
  send_as(waiter, 0, CancelRequest{id});
  EXPECT_EQ(late_status(waiter, id), HB_CANCELED);
  EXPECT_EQ(counters().waits, 0u);
  send_as(waiter, 0, CancelRequest{id});
  EXPECT_TRUE(effects.empty());
}

TEST_F(WaitTest, ADisconnectDropsItsWaits) {
  send(waiter, waiting(by_name("kv"), kSecond));
  send(waiter, waiting(by_name("kv"), kNever));
  disconnect(waiter);
  EXPECT_EQ(counters().waits, 0u);
  exported(owner, simple("kv"));
  EXPECT_EQ(effects.size(), 1u);
  EXPECT_EQ(counters().leases, 0u);
}

TEST_F(WaitTest, WaitersComeInTheOrderTheyCame) {
  std::vector<std::uint64_t> ids;
  for (int i = 0; i < 5; ++i) ids.push_back(send(waiter, waiting(by_name("kv"), kNever)));
  send_as(waiter, 0, CancelRequest{ids[2]});
  ids.erase(ids.begin() + 2);
  exported(owner, simple("kv"));
  std::vector<std::uint64_t> answered;
  for (const Effect& effect : effects)
    if (const auto* reply = std::get_if<Reply>(&effect))
      if (reply->session == waiter) answered.push_back(reply->request_id);
  EXPECT_EQ(answered, ids);
}

TEST_F(WaitTest, ASessionMayWaitForOnlySoMany) {
  for (std::size_t i = 0; i < limits::kSessionWaits; ++i) send(waiter, waiting(by_name("kv"), kNever));
  const ReplyBody body = ask(waiter, waiting(by_name("kv"), kNever));
  EXPECT_EQ(status_of(body), HB_QUOTA);
  EXPECT_EQ(error_of(body).limit, limits::kSessionWaits);
  EXPECT_EQ(counters().waits, limits::kSessionWaits);
}

TEST_F(WaitTest, AScopeWaitsForItsOwnNames) {
  const SessionId elsewhere = connect(1000, {}, 3);
  const std::uint64_t id = send(elsewhere, waiting(by_name("kv"), kNever));
  exported(owner, simple("kv"));
  EXPECT_EQ(late_status(elsewhere, id), kUnanswered);
  exported(connect(1000, {}, 3), simple("kv"));
  EXPECT_EQ(late_status(elsewhere, id), HB_OK);
}

TEST_F(WaitTest, OnlyAMissingNameIsWaitedFor) {
  EXPECT_EQ(status_of(ask(waiter, waiting(by_name("a//b"), kNever))), HB_INVALID);
  EXPECT_EQ(status_of(ask(waiter, waiting(by_key(KeyBytes{1}), kNever))), HB_NOT_FOUND);
  exported(owner, simple("kv", 4096));
  EXPECT_EQ(status_of(ask(waiter, waiting(ranged(by_name("kv"), 5000, 0), kNever))), HB_RANGE);
}

}  // namespace
}  // namespace hb::test
