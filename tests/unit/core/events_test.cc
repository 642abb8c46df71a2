// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// What holders are told, in which order, and what a reader who does not read costs.
#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "core/broker.h"
#include "unit/core/broker_driver.h"
#include "wire/limits.h"

namespace hb::test {
namespace {

using namespace core;
using testing::ElementsAre;
using testing::IsEmpty;

class EventsTest : public testing::Test, public BrokerDriver {
 protected:
  SessionId owner = connect(1000);
  SessionId holder = connect(1000);

  void subscribe(SessionId session) { ASSERT_EQ(status_of(ask(session, SubscribeRequest{})), HB_OK); }
  [[nodiscard]] std::size_t rings(SessionId session) const {
    std::size_t count = 0;
    for (const Effect& effect : effects)
      if (const auto* ring = std::get_if<Ring>(&effect)) count += ring->session == session;
    return count;
  }
  EventsTaken take(SessionId session, std::uint32_t most = 0) {
    return std::get<EventsTaken>(ask(session, TakeEventsRequest{most}));
  }
  std::vector<EventKind> kinds(SessionId session) {
    std::vector<EventKind> out;
    for (const Event& event : take(session).events) out.push_back(event.kind);
    return out;
  }
  ReplyBody append(const Exported& to, std::size_t chunks) {
    ExportRequest more = chunked("", chunks, 4096);
    ChangeRequest change;
    change.id = to.id;
    change.kind = ChangeRequest::Kind::kAppend;
    change.total_chunks = chunks;
    change.total_size = chunks * 4096;
    change.distinct_handles = chunks;
    change.chunks = std::move(more.chunks);
    change.handles = std::move(more.handles);
    return ask(owner, std::move(change));
  }
  Exported growing(const std::string& name) {
    ExportRequest request = chunked(name, 1, 4096);
    request.max_size = 64 * 4096;
    return exported(owner, std::move(request));
  }
};

TEST_F(EventsTest, AHolderIsToldAfterItsWordIsCleared) {
  const Exported out = exported(owner, simple("kv"));
  const Acquired held = acquired(holder, by_key(out.key));
  subscribe(holder);
  ask(owner, WithdrawRequest{out.id});
  std::size_t cleared = effects.size();
  std::size_t rung = 0;
  for (std::size_t i = 0; i < effects.size(); ++i) {
    if (std::holds_alternative<SetValidity>(effects[i])) cleared = i;
    if (std::holds_alternative<Ring>(effects[i])) rung = i;
  }
  EXPECT_LT(cleared, rung);
  const EventsTaken taken = take(holder);
  ASSERT_EQ(taken.events.size(), 1u);
  EXPECT_EQ(taken.events[0].kind, EventKind::kWithdrawn);
  EXPECT_EQ(taken.events[0].lease, held.lease);
  EXPECT_EQ(taken.events[0].exported, out.id);
  EXPECT_EQ(taken.events[0].generation, 1u);
  EXPECT_EQ(taken.events[0].size, 0u);
  EXPECT_FALSE(taken.more);
  EXPECT_THAT(kinds(holder), IsEmpty());
}

TEST_F(EventsTest, TheBellRingsOnceUntilAllIsTaken) {
  const Exported a = exported(owner, simple("a"));
  const Exported b = exported(owner, simple("b"));
  acquired(holder, by_key(a.key));
  acquired(holder, by_key(b.key));
  subscribe(holder);
  EXPECT_EQ(rings(holder), 0u) << "nothing to tell";
  ask(owner, WithdrawRequest{a.id});
  EXPECT_EQ(rings(holder), 1u);
  ask(owner, WithdrawRequest{b.id});
  EXPECT_EQ(rings(holder), 0u) << "it has not come for the first yet";
  EXPECT_THAT(kinds(holder), ElementsAre(EventKind::kWithdrawn, EventKind::kWithdrawn));
  const Exported c = exported(owner, simple("c"));
  acquired(holder, by_key(c.key));
  ask(owner, WithdrawRequest{c.id});
  EXPECT_EQ(rings(holder), 1u);
}

TEST_F(EventsTest, WhoSubscribesLateHearsThePresentStateFirst) {
  const Exported out = growing("kv");
  acquired(holder, by_key(out.key));
  append(out, 1);
  append(out, 2);
  ask(owner, WithdrawRequest{out.id});
  EXPECT_EQ(rings(holder), 0u);
  subscribe(holder);
  EXPECT_EQ(rings(holder), 1u);
  // That it had grown is overtaken.
  EXPECT_THAT(kinds(holder), ElementsAre(EventKind::kWithdrawn));
}

TEST_F(EventsTest, GrowthIsToldOnceWithTheSizeOfNow) {
  const Exported out = growing("kv");
  acquired(holder, by_key(out.key));
  subscribe(holder);
  append(out, 1);
  EXPECT_EQ(rings(holder), 1u);
  append(out, 2);
  const EventsTaken taken = take(holder);
  ASSERT_EQ(taken.events.size(), 1u);
  EXPECT_EQ(taken.events[0].kind, EventKind::kGrown);
  EXPECT_EQ(taken.events[0].layout_version, 3u);
  EXPECT_EQ(taken.events[0].size, 4 * 4096u);
}

TEST_F(EventsTest, ARefreshOvertakesWhatIsUntold) {
  const Exported out = growing("kv");
  const Acquired held = acquired(holder, by_key(out.key));
  subscribe(holder);
  append(out, 1);
  EXPECT_EQ(status_of(ask(holder, RefreshRequest{held.lease, 1, {}})), HB_OK);
  EXPECT_THAT(kinds(holder), IsEmpty());
  append(out, 1);
  EXPECT_THAT(kinds(holder), ElementsAre(EventKind::kGrown));
}

TEST_F(EventsTest, WhatIsGivenBackIsNotTold) {
  const Exported out = exported(owner, simple("kv"));
  const Acquired held = acquired(holder, by_key(out.key));
  subscribe(holder);
  ask(owner, WithdrawRequest{out.id});
  ask(holder, ReleaseRequest{held.lease});
  EXPECT_THAT(kinds(holder), IsEmpty());
  EXPECT_EQ(counters().events_pending, 0u);
}

TEST_F(EventsTest, ADeadOwnerIsTold) {
  const Exported out = exported(owner, simple("kv"));
  acquired(holder, by_key(out.key));
  subscribe(holder);
  disconnect(owner);
  EXPECT_EQ(rings(holder), 1u);
  EXPECT_THAT(kinds(holder), ElementsAre(EventKind::kOwnerDied));
}

TEST_F(EventsTest, TheyComeInTheirOrderAndInPages) {
  std::vector<Exported> all;
  for (int i = 0; i < 40; ++i) {
    all.push_back(exported(owner, simple("n" + std::to_string(i))));
    acquired(holder, by_key(all.back().key));
  }
  subscribe(holder);
  for (int i = 39; i >= 0; --i) ask(owner, WithdrawRequest{all[static_cast<std::size_t>(i)].id});
  std::vector<ExportId> told;
  for (bool more = true; more;) {
    const EventsTaken page = take(holder, 8);
    EXPECT_LE(page.events.size(), 8u);
    EXPECT_FALSE(page.events.empty());
    for (const Event& event : page.events) told.push_back(event.exported);
    more = page.more;
  }
  ASSERT_EQ(told.size(), 40u);
  for (std::size_t i = 0; i < 40; ++i) EXPECT_EQ(told[i], all[39 - i].id);
}

TEST_F(EventsTest, WhoNeverReadsCostsOneEntryALease) {
  const Exported out = growing("kv");
  for (int i = 0; i < 3; ++i) acquired(holder, by_key(out.key));
  subscribe(holder);
  for (int i = 0; i < 50; ++i) append(out, 1);
  EXPECT_EQ(counters().events_pending, 3u);
  now += 5 * kSecond;
  const auto who = std::get<WhoListed>(ask(owner, WhoRequest{out.id, 0}));
  ASSERT_EQ(who.holders.size(), 3u);
  EXPECT_TRUE(who.holders[0].listens);
  EXPECT_EQ(who.holders[0].unread_ns, 5 * kSecond);
  take(holder);
  const auto after = std::get<WhoListed>(ask(owner, WhoRequest{out.id, 0}));
  EXPECT_EQ(after.holders[0].unread_ns, 0u);
  disconnect(holder);
  EXPECT_EQ(counters().events_pending, 0u);
}

TEST_F(EventsTest, AnotherSubscriptionRingsAgain) {
  const Exported out = exported(owner, simple("kv"));
  acquired(holder, by_key(out.key));
  subscribe(holder);
  ask(owner, WithdrawRequest{out.id});
  EXPECT_EQ(rings(holder), 1u);
  subscribe(holder);  // whose bell is another
  EXPECT_EQ(rings(holder), 1u);
}

}  // namespace
}  // namespace hb::test
