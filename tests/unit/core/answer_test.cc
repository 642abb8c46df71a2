// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include <gmock/gmock.h>

#include "core/broker.h"
#include "unit/core/broker_driver.h"
#include "wire/frame.h"
#include "wire/limits.h"

namespace hb::test {
namespace {

using namespace core;

class AnswerTest : public testing::Test, public BrokerDriver {
 protected:
  SessionId session = connect(1000);
};

TEST_F(AnswerTest, AnExportSentAgainIsTheSameExportAndItsHandlesAreClosed) {
  const auto first = std::get<Exported>(ask_as(session, 5, simple("kv")));
  ExportRequest again = simple("kv");
  const HandleId surplus = again.handles[0].id;
  const auto second = std::get<Exported>(ask_as(session, 5, std::move(again)));
  EXPECT_EQ(second.id, first.id);
  EXPECT_EQ(second.key, first.key);
  EXPECT_EQ(second.secret, first.secret);
  EXPECT_TRUE(is_closed(surplus));
  EXPECT_EQ(counters().exports, 1u);
}

TEST_F(AnswerTest, APageSentAgainIsCountedOnce) {
  ExportRequest first = chunked("kv", 1, 4096);
  first.total_chunks = 3;
  first.total_size = 3 * 4096;
  first.distinct_handles = 3;
  const auto half = std::get<Exported>(ask_as(session, 1, first));
  ExportRequest page = chunked("", 1, 4096);
  for (int i = 0; i < 2; ++i) {
    for (HandleFacts& handle : page.handles) handle = memfd(4096);
    const auto more =
        std::get<Exported>(ask_as(session, 2, ExportChunksRequest{half.id, 1, page.chunks, page.handles}));
    EXPECT_EQ(more.received_chunks, 2u);
  }
  EXPECT_EQ(counters().allocations, 2u);
}

TEST_F(AnswerTest, AnAcquireSentAgainHasTheSameLeaseAndItsHandles) {
  const Exported out = exported(session, chunked("kv", 4, 4096));
  const auto first = std::get<Acquired>(ask_as(session, 50, by_key(out.key)));
  AcquireRequest smaller = by_key(out.key);
  smaller.max_handles = 2;
  const auto second = std::get<Acquired>(ask_as(session, 50, smaller));
  EXPECT_EQ(second.lease, first.lease);
  EXPECT_EQ(second.validity_value, first.validity_value);
  EXPECT_EQ(second.page.handles.size(), 2u);
  EXPECT_EQ(counters().leases, 1u);
  ask(session, ReleaseRequest{first.lease});
  EXPECT_EQ(status_of(ask_as(session, 50, by_key(out.key))), HB_NOT_HELD);
}

TEST_F(AnswerTest, AnAcquireSentAgainAfterTheEndIsGone) {
  const Exported out = exported(session, simple("kv"));
  ask_as(session, 50, by_key(out.key));
  ask_as(session, 51, WithdrawRequest{out.id, false});
  EXPECT_EQ(status_of(ask_as(session, 50, by_key(out.key))), HB_GONE);
  exported(session, simple("kv"));
  EXPECT_EQ(status_of(ask_as(session, 50, by_key(out.key))), HB_GONE);
}

TEST_F(AnswerTest, AWithdrawSentAgainNamesTheSameHoldersThoughTheyHaveLeft) {
  const Exported out = exported(session, simple("kv"));
  const SessionId holder = connect(1000);
  acquired(holder, by_key(out.key));
  ask_as(session, 50, WithdrawRequest{out.id, false});
  disconnect(holder);
  connect(1001);
  exported(session, simple("kv"));
  const auto again = std::get<Withdrawn>(ask_as(session, 50, WithdrawRequest{out.id, false}));
  ASSERT_EQ(again.holders.size(), 1u);
  EXPECT_EQ(again.holders[0].session.process->pid, 71'000u);
  EXPECT_EQ(counters().exports, 1u);
}

TEST_F(AnswerTest, ARefusalIsAnAnswerToo) {
  EXPECT_EQ(status_of(ask_as(session, 5, by_name("kv"))), HB_NOT_FOUND);
  exported(session, simple("kv"));
  EXPECT_EQ(status_of(ask_as(session, 5, by_name("kv"))), HB_NOT_FOUND);
}

TEST_F(AnswerTest, AForgottenIdIsNotCarriedOutAgain) {
  const Exported out = std::get<Exported>(ask_as(session, 10, simple("kv")));
  for (std::size_t i = 0; i < limits::kRememberedAnswers; ++i) ask_as(session, 11 + i, by_key(out.key));
  EXPECT_EQ(status_of(ask_as(session, 10, simple("kv"))), HB_PROTO);
  EXPECT_EQ(status_of(ask_as(session, 9, simple("new"))), HB_PROTO);
  EXPECT_EQ(status_of(ask_as(session, 11, by_key(out.key))), HB_OK);
  EXPECT_EQ(counters().exports, 1u);
  EXPECT_EQ(counters().leases, limits::kRememberedAnswers);
}

TEST_F(AnswerTest, TwoThreadsMayOvertakeEachOther) {
  exported(session, simple("kv"));
  EXPECT_EQ(status_of(ask_as(session, 101, by_name("kv"))), HB_OK);
  EXPECT_EQ(status_of(ask_as(session, 100, by_name("kv"))), HB_OK);
  EXPECT_EQ(counters().leases, 2u);
}

TEST_F(AnswerTest, RequestsWithoutIdAreNotRemembered) {
  exported(session, simple("kv"));
  ask_as(session, 0, by_name("kv"));
  ask_as(session, 0, by_name("kv"));
  EXPECT_EQ(counters().leases, 2u);
}

TEST_F(AnswerTest, LookingIsNotRemembered) {
  ask_as(session, 5, ListRequest{});
  exported(session, simple("kv"));
  EXPECT_EQ(std::get<Listed>(ask_as(session, 5, ListRequest{})).exports.size(), 1u);
}

TEST_F(AnswerTest, AWaitSentAgainIsAnsweredOnce) {
  send_as(session, 7, waiting(by_name("kv"), kNever));
  send_as(session, 7, waiting(by_name("kv"), kNever));
  EXPECT_EQ(counters().waits, 1u);
  exported(session, simple("kv"));
  EXPECT_EQ(counters().leases, 1u);
  EXPECT_EQ(status_of(ask_as(session, 7, waiting(by_name("kv"), kNever))), HB_OK);
  EXPECT_EQ(counters().leases, 1u);
}

TEST_F(AnswerTest, SessionsDoNotShareAnswers) {
  ask_as(session, 5, simple("kv"));
  const SessionId other = connect(1000);
  EXPECT_EQ(status_of(ask_as(other, 5, simple("kv"))), HB_EXISTS);
}

TEST_F(AnswerTest, AnIdIsOfOneFrameType) {
  ask_as(session, 5, simple("kv"));
  Effects out;
  broker.apply(session, 5, static_cast<std::uint16_t>(FrameType::kWithdraw),
               WithdrawRequest{NameRef{"kv", {}}, false}, now, out);
  ASSERT_EQ(out.size(), 1u);
  const auto& refused = std::get<Error>(std::get<Reply>(out[0]).body);
  EXPECT_EQ(refused.status, HB_PROTO);
  EXPECT_NE(refused.message.find("request id 5 was of frame type"), std::string::npos) << refused.message;
  EXPECT_EQ(counters().exports, 1u);
}

}  // namespace
}  // namespace hb::test
