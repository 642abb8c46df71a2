// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Who may make a ticket of what, and who may use it.
#include "unit/core/ticket_fixture.h"

namespace hb::test {
namespace {

using namespace core;
using testing::HasSubstr;

using TicketTest = TicketFixture;

TEST_F(TicketTest, ItWorksOnceForWhoeverComesFirst) {
  const Exported out = shared();
  const KeyBytes ticket = made(out);
  const KeyFields fields = decode_key(ticket);
  EXPECT_EQ(fields.kind, KeyKind::kTicket);
  EXPECT_EQ(fields.generation, out.generation);
  EXPECT_EQ(fields.offset, 0u);
  EXPECT_EQ(fields.length, 4 * kKiB);
  EXPECT_EQ(counters().tickets, 1u);
  const Acquired got = acquired(reader, by_key(ticket));
  EXPECT_EQ(got.exported.id, out.id);
  EXPECT_EQ(got.page.handles.size(), 1u);
  EXPECT_EQ(word(reader, got.validity_slot), got.validity_value);
  EXPECT_EQ(counters().tickets, 0u);
  EXPECT_EQ(acquire(reader, ticket), HB_GONE);
  EXPECT_THAT(message, HasSubstr("has been used"));
}

TEST_F(TicketTest, TheSameAcquireSentAgainIsAnsweredAgain) {
  const Exported out = shared();
  const KeyBytes ticket = made(out);
  const ReplyBody first = ask_as(reader, 70, by_key(ticket));
  const ReplyBody again = ask_as(reader, 70, by_key(ticket));
  ASSERT_EQ(status_of(again), HB_OK) << error_of(again).message;
  EXPECT_EQ(std::get<Acquired>(again).lease, std::get<Acquired>(first).lease);
  EXPECT_EQ(std::get<Acquired>(again).page.handles.size(), 1u);
}

TEST_F(TicketTest, WhoMayNotReadIsDeniedAndTheTicketStays) {
  const KeyBytes ticket = made(shared());
  EXPECT_EQ(acquire(stranger, ticket), HB_DENIED);
  EXPECT_THAT(message, HasSubstr("uid 1002"));
  EXPECT_EQ(acquire(connect_admin(), ticket), HB_DENIED);
  EXPECT_EQ(counters().tickets, 1u);
  EXPECT_EQ(acquire(reader, ticket), HB_OK);
  // Ended, it tells a stranger nothing.
  EXPECT_EQ(acquire(stranger, ticket), HB_NOT_FOUND);
}

TEST_F(TicketTest, AForgedOrForeignOneNamesNothing) {
  const Exported out = shared();
  const KeyBytes ticket = made(out);
  KeyBytes longer = ticket;
  longer[41] ^= 1;
  EXPECT_EQ(acquire(reader, longer), HB_NOT_FOUND);
  KeyFields fields = decode_key(ticket);
  EXPECT_EQ(acquire(reader, encode_key(fields, out.secret)), HB_NOT_FOUND);  // the export's secret is another
  fields.broker[3] ^= 1;
  EXPECT_EQ(acquire(reader, encode_key(fields, out.secret)), HB_NOT_FOUND);
  EXPECT_EQ(acquire(connect(1001, {}, 7), ticket), HB_NOT_FOUND);  // another scope
  KeyBytes as_key = ticket;
  as_key[2] = 0;
  EXPECT_EQ(acquire(reader, as_key), HB_NOT_FOUND);
  KeyBytes as_ticket = out.key;
  as_ticket[2] = 1;
  EXPECT_EQ(acquire(reader, as_ticket), HB_NOT_FOUND);
  EXPECT_EQ(acquire(reader, ticket), HB_OK);
}

TEST_F(TicketTest, ItIsAcquiredAndNothingElse) {
  const Exported out = shared(1, Lifetime::kLinger);
  const KeyBytes ticket = made(out);
  EXPECT_EQ(status_of(ask(owner, ShowRequest{ticket, 0})), HB_INVALID);
  EXPECT_EQ(status_of(ask(owner, WhoRequest{ticket, 0})), HB_INVALID);
  EXPECT_EQ(status_of(ask(owner, RevokeRequest{ticket, 0})), HB_INVALID);
  disconnect(owner);
  const SessionId heir = connect(1000);
  EXPECT_EQ(status_of(ask(heir, ClaimRequest{ticket, Lifetime::kOwner, 0})), HB_INVALID);
  EXPECT_EQ(counters().tickets, 1u);
}

TEST_F(TicketTest, OfTheOwnerItIsOfAnyPart) {
  const Exported out = shared(4);
  MakeTicketRequest part = ticket_of(out.id);
  part.offset = 4 * kKiB;
  part.length = 8 * kKiB;
  const Acquired got = acquired(reader, ranged(by_key(made(owner, part)), kKiB, 0));
  EXPECT_EQ(got.offset, 5 * kKiB);
  EXPECT_EQ(got.length, 7 * kKiB);
  EXPECT_EQ(got.first_chunk, 1u);
  part.length = 13 * kKiB;
  EXPECT_EQ(status_of(ask(owner, part)), HB_RANGE);
  EXPECT_EQ(counters().tickets, 0u);
}

TEST_F(TicketTest, OfAHolderItIsAtMostWhatTheHolderHas) {
  const Exported out = shared(4);
  const Acquired held = acquired(reader, ranged(by_key(out.key), 4 * kKiB, 8 * kKiB));
  const Acquired got = acquired(reader, by_key(made(reader, ticket_of(held.lease))));
  EXPECT_EQ(got.offset, 4 * kKiB);
  EXPECT_EQ(got.length, 8 * kKiB);
  MakeTicketRequest beyond = ticket_of(held.lease);
  beyond.offset = 4 * kKiB;
  beyond.length = 5 * kKiB;
  EXPECT_EQ(status_of(ask(reader, beyond)), HB_RANGE);
  MakeTicketRequest writes = ticket_of(held.lease);
  writes.access = Access::kReadWrite;
  EXPECT_EQ(status_of(ask(reader, writes)), HB_READ_ONLY);
  EXPECT_EQ(status_of(ask(stranger, ticket_of(held.lease))), HB_NOT_HELD);
  EXPECT_EQ(status_of(ask(reader, ticket_of(out.id))), HB_DENIED);
  EXPECT_EQ(status_of(ask(stranger, ticket_of(out.id))), HB_NOT_FOUND);
}

TEST_F(TicketTest, AccessIsTheLeastOfTicketAndAcl) {
  ExportRequest request = simple("kv");
  request.acl = {uid_writes(1001), uid_reads(1002)};
  const Exported out = exported(owner, std::move(request));
  const KeyBytes reads = made(out);
  EXPECT_EQ(status_of(ask(reader, writing(by_key(reads)))), HB_READ_ONLY);
  MakeTicketRequest writes = ticket_of(out.id);
  writes.access = Access::kReadWrite;
  const KeyBytes write = made(owner, writes);
  EXPECT_EQ(status_of(ask(stranger, writing(by_key(write)))), HB_DENIED);  // the ACL lets uid 1002 read
  EXPECT_EQ(counters().tickets, 2u);
  EXPECT_EQ(acquired(reader, writing(by_key(write))).access, Access::kReadWrite);
}

TEST_F(TicketTest, OfALeaseThatFollowsItHasThePresentLength) {
  ExportRequest growing = simple("kv");
  growing.acl = {uid_reads(1001)};
  growing.max_size = 64 * kKiB;
  const Exported out = exported(owner, std::move(growing));
  const Acquired held = acquired(reader, by_key(out.key));
  ASSERT_TRUE(held.follows);
  const KeyBytes ticket = made(reader, ticket_of(held.lease));
  ExportRequest more = simple("");
  ChangeRequest change;
  change.id = out.id;
  change.kind = ChangeRequest::Kind::kAppend;
  change.total_chunks = 1;
  change.total_size = 4 * kKiB;
  change.distinct_handles = 1;
  change.chunks = std::move(more.chunks);
  change.handles = std::move(more.handles);
  ASSERT_EQ(status_of(ask(owner, std::move(change))), HB_OK);
  const Acquired got = acquired(reader, by_key(ticket));
  EXPECT_EQ(got.length, 4 * kKiB);
  EXPECT_FALSE(got.follows);
}

TEST_F(TicketTest, SenselessOnesAreRefused) {
  const Exported out = shared();
  EXPECT_EQ(status_of(ask(owner, MakeTicketRequest{})), HB_INVALID);
  MakeTicketRequest both = ticket_of(out.id);
  both.lease = acquired(owner, by_key(out.key)).lease;
  EXPECT_EQ(status_of(ask(owner, both)), HB_INVALID);
  EXPECT_EQ(status_of(ask(owner, ticket_of(out.id, 0))), HB_INVALID);
  EXPECT_EQ(status_of(ask(owner, ticket_of(out.id, limits::kTicketNs + 1))), HB_QUOTA);
  MakeTicketRequest nothing = ticket_of(out.id);
  nothing.access = Access::kNone;
  EXPECT_EQ(status_of(ask(owner, nothing)), HB_INVALID);
  EXPECT_EQ(status_of(ask(connect_admin(), ticket_of(out.id))), HB_DENIED);
  ask(owner, SuspendRequest{out.id, 0});
  EXPECT_EQ(status_of(ask(owner, ticket_of(out.id))), HB_SUSPENDED);
}

TEST_F(TicketTest, OneSessionHasABoundAndGetsItsShareBack) {
  const Exported out = shared();
  KeyBytes last{};
  for (std::size_t i = 0; i < limits::kSessionTickets; ++i) {
    const ReplyBody body = ask_unchecked(owner, ticket_of(out.id, (i + 1) * kSecond / 100));
    ASSERT_EQ(status_of(body), HB_OK);
    last = std::get<TicketMade>(body).ticket;
  }
  const ReplyBody refused = ask(owner, ticket_of(out.id));
  EXPECT_EQ(status_of(refused), HB_QUOTA);
  EXPECT_EQ(error_of(refused).what, "tickets");
  EXPECT_EQ(error_of(refused).used, limits::kSessionTickets);
  EXPECT_EQ(error_of(refused).limit, limits::kSessionTickets);
  EXPECT_EQ(error_of(refused).who, "uid 1000");
  EXPECT_EQ(acquire(reader, last), HB_OK);
  made(out);
  advance(kSecond / 100);  // the first has expired
  made(out);
  EXPECT_EQ(status_of(ask(owner, ticket_of(out.id))), HB_QUOTA);
}

// Tickets outlive their session: a uid that makes some, leaves and comes again is bounded all the same.
TEST_F(TicketTest, OneUidHasABoundOverAllItsSessions) {
  const Exported out = shared();
  for (std::size_t made_so_far = 0; made_so_far < limits::kUidTickets;) {
    const SessionId maker = connect(1001);
    const Acquired held = acquired(maker, by_key(out.key));
    for (std::size_t i = 0; i < limits::kSessionTickets; ++i, ++made_so_far)
      ASSERT_EQ(status_of(ask_unchecked(maker, ticket_of(held.lease))), HB_OK);
    disconnect(maker);
  }
  const Acquired held = acquired(reader, by_key(out.key));
  const ReplyBody refused = ask(reader, ticket_of(held.lease));
  EXPECT_EQ(status_of(refused), HB_QUOTA);
  EXPECT_EQ(error_of(refused).used, limits::kUidTickets);
  made(out);           // another uid is not affected
  disconnect(reader);  // the charge stays though no session of the uid is left
  reader = connect(1001);
  const Acquired again = acquired(reader, by_key(out.key));
  EXPECT_EQ(status_of(ask(reader, ticket_of(again.lease))), HB_QUOTA);
  advance(60 * kSecond);
  made(reader, ticket_of(again.lease));
}

}  // namespace
}  // namespace hb::test
