// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Taking back, and waiting for those who hold.
#include <gmock/gmock.h>

#include "core/broker.h"
#include "core/export_state.h"
#include "unit/core/broker_driver.h"
#include "wire/limits.h"

namespace hb::test {
namespace {

using namespace core;

class RevokeTest : public testing::Test, public BrokerDriver {
 protected:
  SessionId owner = connect(1000);
  SessionId holder = connect(1000);
  SessionId sibling = connect(1000);

  // The late answer, none yet: exports is 99.
  Withdrawn answered(SessionId session, std::uint64_t id) {
    const Reply* const reply = answer_to(session, id);
    if (reply == nullptr) return Withdrawn{99, {}, false, 0, 0};
    EXPECT_EQ(status_of(reply->body), HB_OK);
    EXPECT_TRUE(reply->after_close);
    return std::get<Withdrawn>(reply->body);
  }
  Withdrawn revoked(SessionId session, const Target& target) {
    const ReplyBody body = ask(session, RevokeRequest{target, 0});
    EXPECT_EQ(status_of(body), HB_OK) << error_of(body).message;
    return std::get<Withdrawn>(body);
  }
};

TEST_F(RevokeTest, TheKeyIsDeadTheMemoryClosedAndTheHolderNamed) {
  const Exported out = exported(owner, chunked("kv", 3, 4096));
  const Acquired held = acquired(holder, by_key(out.key));
  const Withdrawn answer = revoked(sibling, out.id);
  EXPECT_EQ(answer.exports, 1u);
  ASSERT_EQ(answer.holders.size(), 1u);
  EXPECT_EQ(answer.holders[0].lease, held.lease);
  EXPECT_EQ(answer.holders[0].state, static_cast<std::uint8_t>(ExportState::kRevoked));
  EXPECT_EQ(open_handles(), 0u);
  EXPECT_EQ(word(holder, held.validity_slot), 0u);
  EXPECT_EQ(status_of(ask(holder, by_key(out.key))), HB_REVOKED);
  EXPECT_EQ(status_of(ask(holder, by_name("kv"))), HB_NOT_FOUND);
  exported(sibling, simple("kv"));  // the name is free
}

TEST_F(RevokeTest, ItWaitsForTheHoldersAndAnswersWhenTheLastHasGone) {
  const Exported out = exported(owner, simple("kv"));
  const Acquired first = acquired(holder, by_key(out.key));
  const Acquired second = acquired(sibling, by_key(out.key));
  const std::uint64_t id = send(owner, RevokeRequest{out.id, 10 * kSecond});
  EXPECT_EQ(answered(owner, id).exports, 99u);
  EXPECT_EQ(open_handles(), 0u) << "closed before anybody gives it back";
  EXPECT_EQ(status_of(ask(holder, by_key(out.key))), HB_REVOKED);
  ask(holder, ReleaseRequest{first.lease});
  EXPECT_EQ(answered(owner, id).exports, 99u);
  ask(sibling, ReleaseRequest{second.lease});
  EXPECT_EQ(answered(owner, id).exports, 1u);
  EXPECT_EQ(answered(owner, id).holder_count, 0u);
  EXPECT_EQ(counters().waits, 0u);
}

TEST_F(RevokeTest, AfterTheGraceItNamesWhoIsLeft) {
  const Exported out = exported(owner, simple("kv"));
  const Acquired first = acquired(holder, by_key(out.key));
  acquired(sibling, by_key(out.key));
  const std::uint64_t id = send(owner, RevokeRequest{out.id, 2 * kSecond});
  ask(holder, ReleaseRequest{first.lease});
  advance(2 * kSecond);
  const Withdrawn answer = answered(owner, id);
  ASSERT_EQ(answer.holders.size(), 1u);
  EXPECT_EQ(answer.holders[0].session.id, sibling);
  // Asked again it is 0 exports more, and waits again; once the last has died nobody is left.
  EXPECT_EQ(revoked(owner, NameRef{"kv", {}}).exports, 0u);
  const std::uint64_t again = send(owner, RevokeRequest{NameRef{"kv", {}}, kSecond});
  disconnect(sibling);
  EXPECT_EQ(answered(owner, again).exports, 0u);
  EXPECT_EQ(answered(owner, again).holder_count, 0u);
  EXPECT_EQ(revoked(owner, NameRef{"kv", {}}).holder_count, 0u);
  EXPECT_EQ(status_of(ask(owner, RevokeRequest{out.id, 0})), HB_GONE);
}

TEST_F(RevokeTest, OnlyTheOwnersUidAndTheAdminMay) {
  ExportRequest request = simple("kv");
  request.acl = {uid_reads(1001)};
  const Exported out = exported(owner, std::move(request));
  const SessionId reader = connect(1001);
  const SessionId stranger = connect(1002);
  EXPECT_EQ(status_of(ask(reader, RevokeRequest{out.id, 0})), HB_DENIED);
  EXPECT_EQ(status_of(ask(stranger, RevokeRequest{out.id, 0})), HB_NOT_FOUND);
  EXPECT_EQ(counters().exports, 1u);
  const SessionId admin = connect_admin();
  EXPECT_EQ(revoked(admin, out.id).exports, 1u);
}

TEST_F(RevokeTest, TheOwnerIsTold) {
  const Exported out = exported(owner, simple("kv"));
  ask(owner, SubscribeRequest{});
  revoked(sibling, out.id);
  const auto taken = std::get<EventsTaken>(ask(owner, TakeEventsRequest{}));
  ASSERT_EQ(taken.events.size(), 1u);
  EXPECT_EQ(taken.events[0].kind, EventKind::kRevoked);
  EXPECT_EQ(taken.events[0].lease, LeaseId{});
  EXPECT_EQ(taken.events[0].exported, out.id);
  EXPECT_EQ(status_of(ask(owner, WithdrawRequest{out.id})), HB_GONE);
}

TEST_F(RevokeTest, WhatWasWithdrawnOrLostItsOwnerAndIsHeldCanBeWaitedFor) {
  const Exported out = exported(owner, simple("kv"));
  const Acquired held = acquired(holder, by_key(out.key));
  disconnect(owner);
  const std::uint64_t id = send(sibling, RevokeRequest{out.id, 5 * kSecond});
  EXPECT_EQ(answered(sibling, id).exports, 99u);
  ask(holder, ReleaseRequest{held.lease});
  EXPECT_EQ(answered(sibling, id).exports, 0u);
}

TEST_F(RevokeTest, WithdrawWaitsTheSameWay) {
  const Exported out = exported(owner, simple("kv"));
  const Acquired held = acquired(holder, by_key(out.key));
  const std::uint64_t id = send(owner, WithdrawRequest{out.id, false, 5 * kSecond});
  EXPECT_EQ(answered(owner, id).exports, 99u);
  EXPECT_EQ(open_handles(), 0u);
  ask(holder, ReleaseRequest{held.lease});
  EXPECT_EQ(answered(owner, id).exports, 1u);
  EXPECT_EQ(status_of(ask(owner, WithdrawRequest{{}, true, kSecond})), HB_INVALID);
}

TEST_F(RevokeTest, WhoGoesWhileWaitingIsNotAnswered) {
  const Exported out = exported(owner, simple("kv"));
  acquired(holder, by_key(out.key));
  send(sibling, RevokeRequest{out.id, 5 * kSecond});
  EXPECT_EQ(counters().waits, 1u);
  disconnect(sibling);
  EXPECT_EQ(counters().waits, 0u);
  disconnect(holder);
  ASSERT_EQ(effects.size(), 1u);
  EXPECT_TRUE(std::holds_alternative<Audit>(effects[0]));
}

TEST_F(RevokeTest, HeldAndEndedIsListedOnRequest) {
  const Exported out = exported(owner, simple("kv"));
  const Acquired held = acquired(holder, by_key(out.key));
  revoked(owner, out.id);
  EXPECT_TRUE(std::get<Listed>(ask(owner, ListRequest{})).exports.empty());
  const auto listed = std::get<Listed>(ask(owner, ListRequest{0, "", true}));
  ASSERT_EQ(listed.exports.size(), 1u);
  EXPECT_EQ(listed.exports[0].state, static_cast<std::uint8_t>(ExportState::kRevoked));
  EXPECT_EQ(listed.exports[0].descriptors, 0u);
  EXPECT_EQ(listed.exports[0].leases, 1u);
  EXPECT_EQ(listed.exports[0].view.size, 4 * kKiB);
  ask(holder, ReleaseRequest{held.lease});
  EXPECT_TRUE(std::get<Listed>(ask(owner, ListRequest{0, "", true})).exports.empty());
}

}  // namespace
}  // namespace hb::test
