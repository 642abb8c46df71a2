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

class WithdrawTest : public testing::Test, public BrokerDriver {
 protected:
  SessionId owner = connect(1000);
  SessionId holder = connect(1000);
  Withdrawn withdrawn(WithdrawRequest request) {
    const ReplyBody body = ask(owner, std::move(request));
    EXPECT_EQ(status_of(body), HB_OK) << error_of(body).message;
    return std::holds_alternative<Withdrawn>(body) ? std::get<Withdrawn>(body) : Withdrawn{};
  }
};

TEST_F(WithdrawTest, HoldersLoseTheirWordThenHandlesCloseThenTheAnswerComes) {
  const Exported out = exported(owner, chunked("kv", 3, 4096));
  const Acquired held = acquired(holder, ranged(by_key(out.key), 4096, 4096));
  now += 5 * kSecond;
  const Withdrawn answer = withdrawn({out.id, false});
  ASSERT_EQ(effects.size(), 3u);
  EXPECT_EQ(std::get<SetValidity>(effects[0]).session, holder);
  EXPECT_EQ(std::get<SetValidity>(effects[0]).value, 0u);
  EXPECT_EQ(std::get<CloseHandles>(effects[1]).handles.size(), 3u);
  EXPECT_TRUE(std::get<Reply>(effects[2]).after_close);
  EXPECT_EQ(answer.exports, 1u);
  ASSERT_EQ(answer.holders.size(), 1u);
  EXPECT_EQ(answer.holders[0].lease, held.lease);
  EXPECT_EQ(answer.holders[0].session.id, holder);
  EXPECT_EQ(answer.holders[0].session.process->pid, 71'000u);
  EXPECT_EQ(answer.holders[0].offset, 4096u);
  EXPECT_EQ(answer.holders[0].age_ns, 5 * kSecond);
  EXPECT_EQ(status_of(ask(holder, FetchRequest{held.lease, 1, 1})), HB_GONE);
  EXPECT_EQ(status_of(ask(holder, ReleaseRequest{held.lease})), HB_OK);
  EXPECT_EQ(status_of(ask(holder, ReleaseRequest{held.lease})), HB_NOT_HELD);
}

TEST_F(WithdrawTest, TheNameIsFreeAtOnce) {
  exported(owner, simple("kv"));
  withdrawn({NameRef{"kv", {}}, false});
  exported(holder, simple("kv"));
  EXPECT_EQ(status_of(ask(owner, WithdrawRequest{NameRef{"kv", {}}, false})), HB_DENIED);
}

TEST_F(WithdrawTest, AnotherSessionOfTheUidIsDeniedAndTold) {
  const Exported out = exported(owner, simple("kv"));
  for (const Target& target : {Target{out.id}, Target{NameRef{"kv", {}}}}) {
    const ReplyBody body = ask(holder, WithdrawRequest{target, false});
    EXPECT_EQ(status_of(body), HB_DENIED);
    EXPECT_THAT(error_of(body).message, HasSubstr("another session owns it"));
  }
  EXPECT_EQ(counters().exports, 1u);
}

TEST_F(WithdrawTest, AllOfASessionGoAtOnce) {
  for (int i = 0; i < 5; ++i) exported(owner, simple("n" + std::to_string(i)));
  exported(holder, simple("mine"));
  acquired(holder, by_name("n1"));
  acquired(holder, by_name("n2"));
  const Withdrawn answer = withdrawn({{}, true});
  EXPECT_EQ(answer.exports, 5u);
  EXPECT_EQ(answer.holders.size(), 2u);
  EXPECT_EQ(counters().exports, 1u);
  EXPECT_EQ(withdrawn({{}, true}).exports, 0u);
}

TEST_F(WithdrawTest, ManyHoldersAreCutAtTheLimitAndSaidSo) {
  const Exported out = exported(owner, simple("kv"));
  for (std::size_t i = 0; i < limits::kListEntries + 1; ++i) acquired(holder, by_key(out.key));
  const Withdrawn answer = withdrawn({out.id, false});
  EXPECT_EQ(answer.holders.size(), limits::kListEntries);
  EXPECT_TRUE(answer.more_holders);
  EXPECT_EQ(answer.holder_count, limits::kListEntries + 1);
  EXPECT_EQ(counters().leases, limits::kListEntries + 1);
}

TEST_F(WithdrawTest, WhatHasEndedOrNeverWasSaysSo) {
  const Exported out = exported(owner, simple("kv"));
  withdrawn({out.id, false});
  EXPECT_EQ(status_of(ask(owner, WithdrawRequest{out.id, false})), HB_GONE);
  EXPECT_EQ(status_of(ask(owner, WithdrawRequest{NameRef{"kv", {}}, false})), HB_NOT_FOUND);
  EXPECT_EQ(status_of(ask(owner, WithdrawRequest{ExportId{12345}, false})), HB_NOT_FOUND);
  EXPECT_EQ(status_of(ask(owner, WithdrawRequest{})), HB_INVALID);
  EXPECT_EQ(status_of(ask(owner, WithdrawRequest{out.key, false})), HB_INVALID);
}

TEST_F(WithdrawTest, AnOldIdNeverFindsNewData) {
  BrokerConfig config = default_config();
  config.ended_exports = 1;
  BrokerDriver small(config);
  const SessionId session = small.connect(1000);
  const Exported first = small.exported(session, small.simple(""));
  small.ask(session, WithdrawRequest{first.id, false});
  small.exported(session, small.simple("b"));
  small.ask(session, WithdrawRequest{NameRef{"b", {}}, false});  // the first end is forgotten
  const Exported reused = small.exported(session, small.simple(""));
  EXPECT_EQ(reused.id.slot(), first.id.slot());
  EXPECT_NE(reused.id, first.id);
  EXPECT_EQ(status_of(small.ask(session, WithdrawRequest{first.id, false})), HB_NOT_FOUND);
  EXPECT_EQ(status_of(small.ask(session, by_key(first.key))), HB_NOT_FOUND);
}

}  // namespace
}  // namespace hb::test
