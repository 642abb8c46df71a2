// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Corners of an export's life that the model test found.
#include <gtest/gtest.h>

#include "core/broker.h"
#include "unit/core/broker_driver.h"
#include "wire/limits.h"

namespace hb::test {
namespace {

using namespace core;

class LifeTest : public testing::Test, public BrokerDriver {
 protected:
  SessionId owner = connect(1000);
  SessionId holder = connect(1000);

  ChangeRequest changed(ExportId id, ChangeRequest::Kind kind, std::uint64_t size = 4096) {
    ChangeRequest r;
    r.id = id;
    r.kind = kind;
    r.total_chunks = r.distinct_handles = 1;
    r.total_size = size;
    NewChunk chunk;
    chunk.handle = 0;
    chunk.size = size;
    r.chunks = {chunk};
    r.handles = {memfd(size)};
    return r;
  }
  std::vector<EventKind> told(SessionId session) {
    std::vector<EventKind> out;
    const ReplyBody body = ask(session, TakeEventsRequest{});
    for (const Event& event : std::get<EventsTaken>(body).events) out.push_back(event.kind);
    return out;
  }
};

TEST_F(LifeTest, WhoWaitsForASleepHearsOfThatSleepWhenItIsResumed) {
  const Exported out = exported(owner, simple("kv"));
  const Acquired held = acquired(holder, by_key(out.key));
  const std::uint64_t waiting = send(owner, SuspendRequest{out.id, 9 * kSecond});
  EXPECT_EQ(answer_to(owner, waiting), nullptr);
  const std::uint64_t resumed = send(owner, changed(out.id, ChangeRequest::Kind::kResume));
  ASSERT_NE(answer_to(owner, waiting), nullptr);
  const auto& slept = std::get<Withdrawn>(answer_to(owner, waiting)->body);
  EXPECT_EQ(slept.layout_version, 2u);
  ASSERT_EQ(slept.holders.size(), 1u);
  EXPECT_EQ(slept.holders[0].lease, held.lease);
  EXPECT_EQ(std::get<Exported>(answer_to(owner, resumed)->body).layout_version, 3u);
}

TEST_F(LifeTest, WhatCameAfterTheSleepIsToldAfterIt) {
  ExportRequest growing = simple("kv");
  growing.max_size = 8192;
  const Exported out = exported(owner, std::move(growing));
  acquired(holder, by_key(out.key));
  ask(owner, SuspendRequest{out.id});
  ask(owner, changed(out.id, ChangeRequest::Kind::kResume));
  ask(owner, changed(out.id, ChangeRequest::Kind::kAppend));
  ask(owner, changed(out.id, ChangeRequest::Kind::kReplace));
  EXPECT_EQ(told(holder), (std::vector{EventKind::kResumed, EventKind::kReplaced, EventKind::kGrown}));
}

TEST_F(LifeTest, WhatANewOwnerChangesIsToldAfterTheClaim) {
  ExportRequest staying = simple("kv");
  staying.max_size = 8192;
  staying.lifetime = Lifetime::kLinger;
  staying.linger_ns = kSecond;
  const Exported out = exported(owner, std::move(staying));
  acquired(holder, by_key(out.key));
  disconnect(owner);
  const SessionId heir = connect(1000);
  ASSERT_EQ(status_of(ask(heir, ClaimRequest{NameRef{"kv", {}}})), HB_OK);
  ask(heir, changed(out.id, ChangeRequest::Kind::kAppend));
  EXPECT_EQ(told(holder), (std::vector{EventKind::kClaimed, EventKind::kGrown}));
}

TEST_F(LifeTest, AnAcquireSentAgainAfterReleaseAndClaimIsNotHeldAndNotGone) {
  ExportRequest staying = simple("kv");
  staying.lifetime = Lifetime::kLinger;
  staying.linger_ns = kSecond;
  const Exported out = exported(owner, std::move(staying));
  const ReplyBody first = ask_as(holder, 500, by_key(out.key));
  ask(holder, ReleaseRequest{std::get<Acquired>(first).lease});
  disconnect(owner);
  const SessionId heir = connect(1000);
  ASSERT_EQ(status_of(ask(heir, ClaimRequest{NameRef{"kv", {}}})), HB_OK);
  EXPECT_EQ(status_of(ask_as(holder, 500, by_key(out.key))), HB_NOT_HELD);
}

TEST_F(LifeTest, AnEndedExportIsFoundByItsNameAsLongAsItIsHeld) {
  const Exported out = exported(owner, simple("kv"));
  const Acquired held = acquired(holder, by_key(out.key));
  const SessionId reader = connect(1000);
  const auto who_holds = [&]() -> std::size_t {
    const ReplyBody body = ask(reader, WhoRequest{NameRef{"kv", {}}});
    return status_of(body) == HB_OK ? std::get<WhoListed>(body).holders.size() : 0;
  };
  ask(owner, WithdrawRequest{out.id});
  const Exported next = exported(owner, simple("kv"));
  ask(owner, WithdrawRequest{next.id});
  // The younger one ended last, and nobody holds it.
  EXPECT_EQ(std::get<Shown>(ask(reader, ShowRequest{NameRef{"kv", {}}})).info.view.id, out.id);
  const ReplyBody revoked = ask(reader, RevokeRequest{NameRef{"kv", {}}});
  EXPECT_EQ(std::get<Withdrawn>(revoked).holder_count, 1u);
  advance(limits::kEndedExportNs + 1);  // the younger one is forgotten
  EXPECT_EQ(who_holds(), 1u);
  ask(holder, ReleaseRequest{held.lease});
  EXPECT_EQ(who_holds(), 0u);
}

TEST_F(LifeTest, ASessionThatNeverReadsIsOwedABoundedNumberOfEvents) {
  for (std::uint32_t i = 0; i < limits::kSessionLosses + 3; ++i)
    ask(holder, RevokeRequest{exported(owner, simple("")).id});
  EXPECT_EQ(counters().events_pending, limits::kSessionLosses);
  EXPECT_EQ(told(owner).size(), limits::kEventsPage - 3);  // as many as surely fit
  ask(holder, RevokeRequest{exported(owner, simple("")).id});
  EXPECT_EQ(counters().events_pending, limits::kSessionLosses - limits::kEventsPage + 4);
}

}  // namespace
}  // namespace hb::test
