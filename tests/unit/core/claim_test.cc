// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Lifetimes beyond the owner's, who may take an orphan over, and what becomes of names and keys.
#include <gmock/gmock.h>

#include <utility>

#include "core/export_state.h"
#include "unit/core/broker_driver.h"
#include "wire/limits.h"

namespace hb::test {
namespace {

using namespace core;
using testing::HasSubstr;

class ClaimTest : public testing::Test, public BrokerDriver {
 protected:
  SessionId owner = connect(1000);
  SessionId heir = connect(1000);
  SessionId reader = connect(1001);

  Exported lingering(std::uint64_t linger_ns = 10 * kSecond) {
    ExportRequest request = simple("kv");
    request.acl = {uid_reads(1001)};
    request.lifetime = Lifetime::kLinger;
    request.linger_ns = linger_ns;
    return exported(owner, std::move(request));
  }
  ReplyBody claim(SessionId session, const Target& target, Lifetime lifetime = Lifetime::kOwner,
                  std::uint64_t linger_ns = 0) {
    return ask(session, ClaimRequest{target, lifetime, linger_ns});
  }
  Exported claimed(SessionId session, const Target& target, Lifetime lifetime = Lifetime::kOwner,
                   std::uint64_t linger_ns = 0) {
    const ReplyBody body = claim(session, target, lifetime, linger_ns);
    EXPECT_EQ(status_of(body), HB_OK) << error_of(body).message;
    return status_of(body) == HB_OK ? std::get<Exported>(body) : Exported{};
  }
  static Target named() { return NameRef{"kv", {}}; }
};

TEST_F(ClaimTest, AnOrphanIsAcquiredUntilItsTimeIsOver) {
  const Exported out = lingering();
  const Acquired held = acquired(reader, by_key(out.key));
  disconnect(owner);
  EXPECT_EQ(word(reader, held.validity_slot),
            held.validity_value);  // its bytes and its key are what they were
  EXPECT_EQ(broker.next_deadline(), now + 10 * kSecond);
  advance(10 * kSecond - 1);
  EXPECT_EQ(status_of(ask(reader, by_key(out.key))), HB_OK);
  const auto shown = std::get<Shown>(ask(heir, ShowRequest{named(), 0}));
  EXPECT_EQ(shown.info.state, static_cast<std::uint8_t>(ExportState::kOrphaned));
  EXPECT_EQ(shown.info.linger_left_ns, 1u);
  ASSERT_NE(shown.info.owner.process, nullptr);
  EXPECT_EQ(shown.info.owner.process->pid, 71'000u);
  advance(1);
  EXPECT_EQ(status_of(ask(reader, by_key(out.key))), HB_GONE);
  EXPECT_EQ(word(reader, held.validity_slot), 0u);
  EXPECT_EQ(counters().allocations, 0u);
  EXPECT_EQ(open_handles(), 0u);
}

TEST_F(ClaimTest, TheHeirGetsItUnderTheNextGeneration) {
  const Exported out = lingering();
  const Acquired held = acquired(reader, by_key(out.key));
  disconnect(owner);
  const Exported mine = claimed(heir, named());
  EXPECT_EQ(mine.id, out.id);
  EXPECT_EQ(mine.generation, 2u);
  EXPECT_EQ(mine.size, out.size);
  EXPECT_NE(mine.key, out.key);
  EXPECT_NE(mine.secret, out.secret);
  EXPECT_EQ(status_of(ask(reader, by_key(out.key))), HB_STALE);
  EXPECT_EQ(status_of(ask(connect(1002), by_key(out.key))), HB_NOT_FOUND);
  EXPECT_EQ(acquired(reader, by_key(mine.key)).exported.generation, 2u);
  EXPECT_EQ(word(reader, held.validity_slot), 0u);
  EXPECT_EQ(status_of(ask(reader, FetchRequest{held.lease, 0, 1})), HB_OK);  // the lease stays
  advance(20 * kSecond);                                                     // the old time does not run on
  EXPECT_EQ(counters().exports, 1u);
  // It is the heir's: it ends as that says.
  disconnect(heir);
  EXPECT_EQ(status_of(ask(reader, by_key(mine.key))), HB_GONE);
}

TEST_F(ClaimTest, ASecondClaimerIsToldWhoWasFirst) {
  const Exported out = lingering();
  disconnect(owner);
  claimed(heir, out.key);
  const SessionId late = connect(1000);
  const ReplyBody body = claim(late, named());
  EXPECT_EQ(status_of(body), HB_EXISTS);
  EXPECT_THAT(error_of(body).message, HasSubstr("pid 71000"));
  EXPECT_EQ(status_of(claim(late, out.key)), HB_STALE);
  // Who has it already, and does not know since the answer came too late, is told again.
  const ReplyBody again = claim(heir, named());
  ASSERT_EQ(status_of(again), HB_OK);
  EXPECT_EQ(std::get<Exported>(again).generation, out.generation + 1);
}

TEST_F(ClaimTest, AClaimSentAgainIsAnsweredAgain) {
  lingering();
  disconnect(owner);
  const ReplyBody first = ask_as(heir, 70, ClaimRequest{named(), Lifetime::kOwner, 0});
  const ReplyBody again = ask_as(heir, 70, ClaimRequest{named(), Lifetime::kOwner, 0});
  ASSERT_EQ(status_of(again), HB_OK);
  EXPECT_EQ(std::get<Exported>(again).key, std::get<Exported>(first).key);
}

TEST_F(ClaimTest, OnlyTheOwnersUidClaims) {
  const Exported out = lingering();
  EXPECT_EQ(status_of(claim(heir, named())), HB_EXISTS);
  disconnect(owner);
  EXPECT_EQ(status_of(claim(reader, NameRef{"kv", 1000})), HB_DENIED);
  EXPECT_EQ(status_of(claim(reader, out.key)), HB_DENIED);
  EXPECT_EQ(status_of(claim(connect(1002), NameRef{"kv", 1000})), HB_NOT_FOUND);
  EXPECT_EQ(status_of(claim(connect(1000, {}, 9), named())), HB_NOT_FOUND);
  EXPECT_EQ(status_of(claim(connect_admin(), out.key)), HB_DENIED);
  EXPECT_EQ(status_of(claim(heir, out.id)), HB_INVALID);
  EXPECT_EQ(status_of(claim(heir, named(), Lifetime::kLinger, 0)), HB_INVALID);
  claimed(heir, named());
}

TEST_F(ClaimTest, AnHeirMayLeaveItLingeringAgain) {
  lingering();
  disconnect(owner);
  claimed(heir, named(), Lifetime::kLinger, 5 * kSecond);
  disconnect(heir);
  advance(5 * kSecond - 1);
  const SessionId third = connect(1000);
  EXPECT_EQ(claimed(third, named()).generation, 3u);
}

TEST_F(ClaimTest, PersistIsARight) {
  ExportRequest request = simple("kv");
  request.lifetime = Lifetime::kPersist;
  const ReplyBody refused = ask(owner, std::move(request));
  EXPECT_EQ(status_of(refused), HB_DENIED);
  EXPECT_THAT(error_of(refused).message, HasSubstr("check-policy"));
  EXPECT_EQ(counters().allocations, 0u);
  lingering();
  disconnect(owner);
  EXPECT_EQ(status_of(claim(heir, named(), Lifetime::kPersist)), HB_DENIED);
  EXPECT_EQ(claimed(heir, named()).generation, 2u);
}

TEST_F(ClaimTest, WhatPersistsHasNoEndButTheOnesItIsGiven) {
  Principal trusted;
  trusted.uid = trusted.gid = 1000;
  trusted.groups = {1000};
  trusted.rights = core::Rights::all();
  const SessionId keeper = broker.connect(trusted, {}, now).value();
  ExportRequest request = simple("kv");
  request.lifetime = Lifetime::kPersist;
  const Exported out = exported(keeper, std::move(request));
  disconnect(keeper);
  EXPECT_EQ(broker.next_deadline(), kNever);
  advance(100 * limits::kLingerNs);
  EXPECT_EQ(status_of(ask(heir, by_key(out.key))), HB_OK);
  EXPECT_EQ(status_of(ask(heir, WithdrawRequest{named(), false, 0})), HB_DENIED);  // claim it first
  claimed(heir, named());
  EXPECT_EQ(status_of(ask(heir, WithdrawRequest{named(), false, 0})), HB_OK);
}

TEST_F(ClaimTest, LingerIsBounded) {
  for (const auto& [linger_ns, status] :
       {std::pair{std::uint64_t{0}, HB_INVALID}, std::pair{limits::kLingerNs + 1, HB_QUOTA}}) {
    ExportRequest request = simple("kv");
    request.lifetime = Lifetime::kLinger;
    request.linger_ns = linger_ns;
    EXPECT_EQ(status_of(ask(owner, std::move(request))), status) << linger_ns;
  }
  ExportRequest request = simple("kv");
  request.linger_ns = 1;  // of a lifetime that does not linger
  EXPECT_EQ(status_of(ask(owner, std::move(request))), HB_INVALID);
}

TEST_F(ClaimTest, ReplaceNeverLeavesTheNameFree) {
  const Exported first = exported(owner, simple("kv"));
  const Acquired held = acquired(heir, by_name("kv"));
  EXPECT_EQ(status_of(ask(owner, simple("kv"))), HB_EXISTS);
  ExportRequest by_other = simple("kv");
  by_other.replace = true;
  EXPECT_EQ(status_of(ask(heir, std::move(by_other))), HB_EXISTS);  // a live owner is not pushed aside
  ExportRequest next = simple("kv");
  next.replace = true;
  const Exported second = exported(owner, std::move(next));
  EXPECT_EQ(second.generation, 2u);
  EXPECT_EQ(word(heir, held.validity_slot), 0u);
  EXPECT_EQ(status_of(ask(heir, by_key(first.key))), HB_STALE);
  EXPECT_EQ(acquired(heir, by_name("kv")).exported.id, second.id);
  EXPECT_EQ(counters().exports, 1u);
}

TEST_F(ClaimTest, AReplacementInPagesEndsTheOldOneWithItsLast) {
  const Exported old = exported(owner, simple("kv"));
  ExportRequest first = chunked("kv", 1, 4 * kKiB);
  first.total_chunks = 2;
  first.total_size = 8 * kKiB;
  first.distinct_handles = 2;
  first.replace = true;
  const Exported begun = exported(owner, std::move(first));
  EXPECT_EQ(acquired(heir, by_name("kv")).exported.id, old.id);
  ExportRequest last = chunked("", 1, 4 * kKiB);
  ASSERT_EQ(status_of(ask(owner,
                          ExportChunksRequest{begun.id, 1, std::move(last.chunks), std::move(last.handles)})),
            HB_OK);
  EXPECT_EQ(acquired(heir, by_name("kv")).exported.id, begun.id);
}

TEST_F(ClaimTest, AnOrphanIsReplacedByWhoeverIsOfTheUid) {
  const Exported out = lingering();
  disconnect(owner);
  const ReplyBody taken = ask(heir, simple("kv"));
  EXPECT_EQ(status_of(taken), HB_EXISTS);
  EXPECT_THAT(error_of(taken).message, HasSubstr("claim it"));
  ExportRequest next = simple("kv");
  next.replace = true;
  next.acl = {uid_reads(1001)};
  EXPECT_EQ(exported(heir, std::move(next)).generation, 2u);
  EXPECT_EQ(status_of(ask(reader, by_key(out.key))), HB_STALE);
  EXPECT_EQ(counters().allocations, 1u);
  advance(20 * kSecond);
  EXPECT_EQ(counters().exports, 1u);
}

}  // namespace
}  // namespace hb::test
