// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// What a ticket outlives, what it keeps, and what is told of it.
#include <algorithm>
#include <tuple>

#include "core/export_state.h"
#include "unit/core/ticket_fixture.h"

namespace hb::test {
namespace {

using namespace core;
using testing::HasSubstr;

class TicketEndTest : public TicketFixture {
 protected:
  // The whole of a lease of 4 chunks, in pages of one.
  void fetches_all(SessionId session, LeaseId lease) {
    for (std::uint64_t chunk = 0; chunk < 4; ++chunk) {
      const ReplyBody page = ask(session, FetchRequest{lease, chunk, 1});
      ASSERT_EQ(status_of(page), HB_OK) << error_of(page).message;
      EXPECT_EQ(std::get<Fetched>(page).page.handles.size(), 1u);
    }
  }
  AcquireRequest in_small_pages(const KeyBytes& key) {
    AcquireRequest request = by_key(key);
    request.max_handles = 1;
    return request;
  }
};

TEST_F(TicketEndTest, ItOutlivesItsOwnerAndTheMemoryGoesWithItsLastHolder) {
  const KeyBytes ticket = made(shared(4));
  disconnect(owner);
  EXPECT_EQ(counters().allocations, 4u);
  EXPECT_EQ(counters().ended_held, 1u);
  EXPECT_EQ(counters().tickets, 1u);
  const Acquired got = acquired(reader, in_small_pages(ticket));
  EXPECT_EQ(got.page.handles.size(), 1u);
  EXPECT_EQ(word(reader, got.validity_slot), 0u);  // the export has ended: nothing of it is current
  fetches_all(reader, got.lease);
  EXPECT_EQ(counters().allocations, 4u);  // until it is given back: the last answer may have been lost
  ask(reader, ReleaseRequest{got.lease});
  EXPECT_EQ(counters().allocations, 0u);
  EXPECT_EQ(counters().ended_held, 0u);
  EXPECT_EQ(counters().ended_remembered, 1u);
  EXPECT_EQ(open_handles(), 0u);
}

TEST_F(TicketEndTest, ItOutlivesAWithdrawThatNamesIt) {
  const Exported out = shared(4);
  const KeyBytes ticket = made(out);
  now += 5 * kSecond;
  const Withdrawn left = withdrawn(owner, WithdrawRequest{out.id, false, 0});
  ASSERT_EQ(left.holders.size(), 1u);
  EXPECT_TRUE(left.holders[0].ticket);
  EXPECT_EQ(left.holders[0].session.id, owner);
  EXPECT_EQ(left.holders[0].ticket_left_ns, 55 * kSecond);
  EXPECT_EQ(counters().allocations, 4u);
  EXPECT_EQ(acquire(reader, out.key), HB_GONE);
  fetches_all(reader, acquired(reader, in_small_pages(ticket)).lease);
}

// A queue's receiver is in the middle of its pages when the sender takes its buffer down.
TEST_F(TicketEndTest, AWithdrawBetweenTwoPagesTakesNothingFromWhoCameByTicket) {
  const Exported out = shared(4);
  const Acquired got = acquired(reader, in_small_pages(made(out)));
  const Acquired plain = acquired(reader, in_small_pages(out.key));
  EXPECT_EQ(withdrawn(owner, WithdrawRequest{out.id, false, 0}).holder_count, 2u);
  EXPECT_EQ(word(reader, got.validity_slot), 0u);
  fetches_all(reader, got.lease);
  ask(reader, ReleaseRequest{got.lease});
  EXPECT_EQ(counters().allocations, 0u);
  EXPECT_EQ(status_of(ask(reader, FetchRequest{plain.lease, 1, 1})), HB_GONE);
}

TEST_F(TicketEndTest, ALostAnswerIsGivenAgainAfterTheEnd) {
  const Exported out = shared();
  const KeyBytes late = made(out);
  const KeyBytes early = made(out);
  const ReplyBody before = ask_as(reader, 70, by_key(early));
  disconnect(owner);
  const ReplyBody after = ask_as(reader, 71, by_key(late));
  for (const auto& [id, key, first] : {std::tuple(70u, early, before), std::tuple(71u, late, after)}) {
    const ReplyBody again = ask_as(reader, id, by_key(key));
    ASSERT_EQ(status_of(again), HB_OK) << error_of(again).message;
    EXPECT_EQ(std::get<Acquired>(again).lease, std::get<Acquired>(first).lease);
    EXPECT_EQ(std::get<Acquired>(again).page.handles.size(), 1u);
  }
}

TEST_F(TicketEndTest, TimeEndsIt) {
  const Exported out = shared();
  const KeyBytes ticket = made(owner, ticket_of(out.id, 5 * kSecond));
  EXPECT_EQ(broker.next_deadline(), now + 5 * kSecond);
  withdrawn(owner, WithdrawRequest{out.id, false, 0});
  advance(5 * kSecond - 1);
  EXPECT_EQ(counters().allocations, 1u);
  advance(1);
  EXPECT_EQ(counters().allocations, 0u);
  EXPECT_EQ(counters().tickets, 0u);
  EXPECT_EQ(acquire(reader, ticket), HB_GONE);
  EXPECT_THAT(message, HasSubstr("time is over"));
}

// Seen at lookup, whenever the tick comes.
TEST_F(TicketEndTest, AnExpiredOneIsRefusedWithoutATick) {
  const KeyBytes ticket = made(owner, ticket_of(shared().id, kSecond));
  now += kSecond;
  EXPECT_EQ(acquire(reader, ticket), HB_GONE);
}

TEST_F(TicketEndTest, ItsMakersUidDropsIt) {
  const Exported out = shared();
  const KeyBytes ticket = made(out);
  EXPECT_EQ(status_of(ask(reader, DropTicketRequest{ticket})), HB_DENIED);
  EXPECT_EQ(status_of(ask(stranger, DropTicketRequest{ticket})), HB_DENIED);
  EXPECT_EQ(status_of(ask(owner, DropTicketRequest{out.key})), HB_INVALID);
  withdrawn(owner, WithdrawRequest{out.id, false, 0});
  EXPECT_EQ(status_of(ask_as(owner, 90, DropTicketRequest{ticket})), HB_OK);
  EXPECT_TRUE(answer_to(owner, 90)->after_close);
  EXPECT_EQ(counters().allocations, 0u);
  EXPECT_EQ(status_of(ask_as(owner, 90, DropTicketRequest{ticket})), HB_OK);  // sent again
  EXPECT_EQ(status_of(ask(owner, DropTicketRequest{ticket})), HB_GONE);
  EXPECT_EQ(acquire(reader, ticket), HB_GONE);
  EXPECT_THAT(message, HasSubstr("dropped"));
}

TEST_F(TicketEndTest, ARevokeTakesTicketsAndWhatCameOfThem) {
  const Exported out = shared(4);
  const KeyBytes ticket = made(out);
  const Acquired got = acquired(reader, in_small_pages(made(out)));
  const Withdrawn left = withdrawn(owner, RevokeRequest{out.id, 0});
  ASSERT_EQ(left.holders.size(), 1u);
  EXPECT_EQ(left.holders[0].lease, got.lease);
  EXPECT_EQ(counters().allocations, 0u);
  EXPECT_EQ(acquire(reader, ticket), HB_REVOKED);
  EXPECT_EQ(status_of(ask(reader, FetchRequest{got.lease, 1, 1})), HB_REVOKED);
}

TEST_F(TicketEndTest, ARevokeOfWhatEndedBeforeTakesThemToo) {
  const Exported out = shared(4);
  const KeyBytes ticket = made(out);
  const Acquired got = acquired(reader, in_small_pages(made(out)));
  withdrawn(owner, WithdrawRequest{out.id, false, 0});
  EXPECT_EQ(counters().allocations, 4u);
  EXPECT_EQ(withdrawn(owner, RevokeRequest{out.id, 0}).holder_count, 1u);
  EXPECT_EQ(counters().allocations, 0u);
  EXPECT_EQ(acquire(reader, ticket), HB_REVOKED);
  EXPECT_EQ(status_of(ask(reader, FetchRequest{got.lease, 1, 1})), HB_GONE);
}

TEST_F(TicketEndTest, AWithdrawWaitsForTicketsAsForLeases) {
  const Exported out = shared();
  const KeyBytes ticket = made(out);
  send_as(owner, 80, WithdrawRequest{out.id, false, 100 * kSecond});
  EXPECT_EQ(answer_to(owner, 80), nullptr);
  const Acquired got = acquired(reader, by_key(ticket));
  EXPECT_EQ(answer_to(owner, 80), nullptr);
  send_as(reader, 81, ReleaseRequest{got.lease});
  ASSERT_NE(answer_to(owner, 80), nullptr);
  EXPECT_EQ(std::get<Withdrawn>(answer_to(owner, 80)->body).holder_count, 0u);
}

// Asleep nothing is pinned; awake it is again.
TEST_F(TicketEndTest, SleepIsNotHeldUpByATicket) {
  const Exported out = shared();
  const KeyBytes ticket = made(out);
  EXPECT_EQ(withdrawn(owner, SuspendRequest{out.id, 0}).holder_count, 0u);
  EXPECT_EQ(counters().allocations, 0u);
  EXPECT_EQ(acquire(reader, ticket), HB_SUSPENDED);
  ExportRequest again = simple("");
  ChangeRequest resume;
  resume.id = out.id;
  resume.kind = ChangeRequest::Kind::kResume;
  resume.total_chunks = 1;
  resume.total_size = 4 * kKiB;
  resume.distinct_handles = 1;
  resume.chunks = std::move(again.chunks);
  resume.handles = std::move(again.handles);
  ASSERT_EQ(status_of(ask(owner, std::move(resume))), HB_OK);
  disconnect(owner);
  EXPECT_EQ(acquire(reader, ticket), HB_OK);
}

TEST_F(TicketEndTest, WhatEndsAsleepLeavesNothingToATicket) {
  const Exported out = shared();
  const KeyBytes ticket = made(out);
  ask(owner, SuspendRequest{out.id, 0});
  disconnect(owner);
  EXPECT_EQ(counters().tickets, 0u);
  EXPECT_EQ(counters().ended_held, 0u);
  EXPECT_EQ(acquire(reader, ticket), HB_GONE);
  EXPECT_THAT(message, HasSubstr("while it slept"));
}

TEST_F(TicketEndTest, ClaimAndReplacementLeaveItAsItIs) {
  const Exported out = shared(1, Lifetime::kLinger);
  const KeyBytes first = made(out);
  const KeyBytes second = made(out);
  disconnect(owner);
  owner = connect(1000);
  ASSERT_EQ(status_of(ask(owner, ClaimRequest{NameRef{"kv", {}}, Lifetime::kOwner, 0})), HB_OK);
  EXPECT_EQ(acquired(reader, by_key(first)).exported.generation, 2u);
  ExportRequest next = simple("kv");
  next.replace = true;
  const Exported replacing = exported(owner, std::move(next));
  EXPECT_EQ(replacing.generation, 3u);
  EXPECT_EQ(acquired(reader, by_key(second)).exported.id,
            out.id);  // what it was made of, not what came after
}

// From hand to hand: the second receiver comes after the first sender has gone.
TEST_F(TicketEndTest, WhatCameByATicketGoesOnByATicketAfterTheEnd) {
  const Exported out = shared();
  const Acquired got = acquired(reader, by_key(made(out)));
  const Acquired plain = acquired(reader, by_key(out.key));
  disconnect(owner);
  const KeyBytes onward = made(reader, ticket_of(got.lease));
  EXPECT_EQ(status_of(ask(reader, ticket_of(plain.lease))), HB_GONE);
  disconnect(reader);
  EXPECT_EQ(counters().allocations, 1u);
  EXPECT_EQ(acquire(connect(1001), onward), HB_OK);
}

TEST_F(TicketEndTest, WhoNamesTicketsAndTheirMakersEvenWhenThoseHaveGone) {
  const Exported out = shared();
  made(out);
  const Acquired held = acquired(reader, by_key(out.key));
  made(reader, ticket_of(held.lease));
  now += 20 * kSecond;
  disconnect(owner);
  const SessionId heir = connect(1000);
  const std::vector<Holder> all = holders(heir, Target{out.id});
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[0].lease, held.lease);
  for (const Holder& holder : {all[1], all[2]}) {
    EXPECT_TRUE(holder.ticket);
    EXPECT_FALSE(holder.lease);
    EXPECT_EQ(holder.ticket_left_ns, 40 * kSecond);
    EXPECT_EQ(holder.age_ns, 20 * kSecond);
    ASSERT_NE(holder.session.process, nullptr);
    EXPECT_EQ(holder.session.process->pid, 70'000 + holder.session.uid);
    EXPECT_EQ(holder.session.age_ns, holder.session.uid == 1001 ? 20 * kSecond : 0);
    EXPECT_EQ(holder.state, static_cast<std::uint8_t>(ExportState::kGone));
  }
  EXPECT_NE(all[1].session.uid, all[2].session.uid);
  // A holder sees its own.
  EXPECT_EQ(holders(reader, Target{out.id}).size(), 2u);
  EXPECT_EQ(holders(reader).size(), 2u);
  EXPECT_EQ(holders(heir).size(), 3u);
  const auto shown = std::get<Shown>(ask(heir, ShowRequest{out.id, 0}));
  EXPECT_EQ(shown.info.tickets, 2u);
  EXPECT_EQ(shown.info.descriptors, 1u);
}

TEST_F(TicketEndTest, WhoPagesThroughLeasesThenTickets) {
  const Exported out = shared();
  constexpr std::size_t kMany = 2 * limits::kListEntries + 5;
  for (std::size_t i = 0; i < kMany; ++i) {
    acquired(reader, by_key(out.key));
    made(out);
  }
  for (const Target& target : {Target{}, Target{out.id}, Target{NameRef{"kv", {}}}}) {
    const std::vector<Holder> all = holders(owner, target);
    EXPECT_EQ(all.size(), 2 * kMany);
    EXPECT_EQ(std::count_if(all.begin(), all.end(), [](const Holder& h) { return bool(h.ticket); }), kMany);
  }
}

TEST_F(TicketEndTest, EndedOnesAreRememberedInBounds) {
  const Exported out = shared();
  const KeyBytes first = made(out);
  ASSERT_EQ(status_of(ask(owner, DropTicketRequest{first})), HB_OK);
  EXPECT_EQ(acquire(reader, first), HB_GONE);
  for (std::size_t i = 0; i < limits::kEndedTickets; ++i) {
    const ReplyBody body = ask_unchecked(owner, ticket_of(out.id));
    ASSERT_EQ(status_of(body), HB_OK);
    ASSERT_EQ(status_of(ask_unchecked(owner, DropTicketRequest{std::get<TicketMade>(body).ticket})), HB_OK);
  }
  EXPECT_EQ(acquire(reader, first), HB_NOT_FOUND);
}

}  // namespace
}  // namespace hb::test
