// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Exports whose descriptors or whose owner's connection went with an earlier daemon, and their way back.
#include <gmock/gmock.h>

#include "core/broker.h"
#include "unit/core/broker_driver.h"

namespace hb::test {
namespace {

using namespace core;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::uint64_t kGrace = 30 * kSecond;

BrokerConfig recording(bool lost_records) {
  BrokerConfig config = BrokerDriver::default_config();
  config.records = true;
  config.lost_records = lost_records;
  return config;
}

class AwaitingTest : public testing::Test, public BrokerDriver {
 protected:
  explicit AwaitingTest(bool lost_records = false) : BrokerDriver(recording(lost_records)) {}

  static ExportRequest terms_of(ExportRequest request) {
    request.chunks.clear();
    request.handles.clear();
    return request;
  }
  static ReofferRequest reoffer_of(const Exported& made, const ExportRequest& terms) {
    ReofferRequest request;
    request.id = made.id;
    request.generation = made.generation;
    request.token = made.token;
    request.name = terms.name;
    request.metadata = terms.metadata;
    request.kind = terms.kind;
    request.placement = terms.placement;
    request.acl = terms.acl;
    request.lifetime = terms.lifetime;
    request.linger_ns = terms.linger_ns;
    request.access = made.access;
    request.max_size = terms.max_size;
    request.layout_version = made.layout_version;
    request.size = made.size;
    return request;
  }
  ReplyBody resume(SessionId session, ExportId id, std::size_t chunks, std::uint64_t size = 4096) {
    ExportRequest fresh = chunked("", chunks, size);
    ChangeRequest request;
    request.id = id;
    request.kind = ChangeRequest::Kind::kResume;
    request.total_chunks = chunks;
    request.total_size = chunks * size;
    request.distinct_handles = chunks;
    request.chunks = std::move(fresh.chunks);
    request.handles = std::move(fresh.handles);
    return ask(session, std::move(request));
  }
  static ReplyBody ok(ReplyBody body) {
    EXPECT_EQ(status_of(body), HB_OK) << (status_of(body) == HB_OK ? "" : error_of(body).message);
    return body;
  }
};

TEST_F(AwaitingTest, WithoutItsDescriptorsItSleepsAndHoldersNoticeNothing) {
  const SessionId owner = connect(1000);
  const SessionId reader = connect(1000);
  const Exported made = exported(owner, chunked("kv", 3, 4096));
  const Acquired held = acquired(reader, by_key(made.key));
  static_cast<void>(ask(reader, SubscribeRequest{}));
  lose_all_handles(kGrace);
  EXPECT_EQ(open_handles(), 0u);
  EXPECT_THAT(broker.awaited_of(owner), ElementsAre(made.id));
  EXPECT_EQ(broker.awaited(), 1u);
  EXPECT_EQ(word(reader, held.validity_slot), held.validity_value);
  EXPECT_EQ(status_of(ask(reader, by_key(made.key))), HB_SUSPENDED);
  EXPECT_THAT(std::get<EventsTaken>(ask(reader, TakeEventsRequest{})).events, IsEmpty());
  // Who asks by name waits for it.
  const std::uint64_t waits = send(reader, waiting(by_name("kv"), 60 * kSecond));
  const Exported again = std::get<Exported>(ok(resume(owner, made.id, 3)));
  EXPECT_EQ(again.layout_version, made.layout_version);
  EXPECT_EQ(again.generation, made.generation);
  EXPECT_EQ(again.key, made.key);
  ASSERT_NE(answer_to(reader, waits), nullptr);
  EXPECT_EQ(std::get<Acquired>(answer_to(reader, waits)->body).exported.id, made.id);
  EXPECT_EQ(word(reader, held.validity_slot), held.validity_value);
  EXPECT_THAT(std::get<EventsTaken>(ask(reader, TakeEventsRequest{})).events, IsEmpty());
  EXPECT_EQ(broker.awaited(), 0u);
  advance(2 * kGrace);
  EXPECT_EQ(counters().exports, 1u);
}

TEST_F(AwaitingTest, NobodyElseGetsTheNameUntilTheGraceIsOver) {
  const SessionId owner = connect(1000);
  const Exported made = exported(owner, simple("kv"));
  lose_connection(owner, kGrace);
  const SessionId other = connect(1000);
  EXPECT_EQ(status_of(ask(other, simple("kv"))), HB_EXISTS);
  advance(kGrace - 1);
  EXPECT_EQ(status_of(ask(other, by_key(made.key))), HB_SUSPENDED);
  advance(1);
  EXPECT_EQ(status_of(ask(other, by_key(made.key))), HB_GONE);
  EXPECT_EQ(broker.awaited(), 0u);
  EXPECT_EQ(exported(other, simple("kv")).generation, made.generation + 1);
}

TEST_F(AwaitingTest, TheOwnerComesBackWithItsToken) {
  const SessionId owner = connect(1000);
  const ExportRequest request = chunked("kv", 2, 4096);
  const ExportRequest terms = terms_of(request);
  const Exported made = exported(owner, request);
  const SessionId reader = connect(1000);
  const Acquired held = acquired(reader, by_key(made.key));
  lose_connection(owner, kGrace);
  const SessionId back = connect(1000);
  const Exported awaited = std::get<Exported>(ok(ask(back, reoffer_of(made, terms))));
  EXPECT_EQ(awaited.received_chunks, 0u);  // they are wanted
  EXPECT_EQ(status_of(resume(back, made.id, 1)), HB_MISMATCH);
  EXPECT_EQ(std::get<Exported>(ok(resume(back, made.id, 2))).key, made.key);
  EXPECT_EQ(acquired(reader, by_key(made.key)).exported.id, made.id);
  EXPECT_EQ(word(reader, held.validity_slot), held.validity_value);
}

TEST_F(AwaitingTest, ATokenIsItsOwnersAndSaysAllOfIt) {
  const SessionId owner = connect(1000);
  ExportRequest request = simple("kv");
  request.acl = {uid_reads(1001)};
  const ExportRequest terms = terms_of(request);
  const Exported made = exported(owner, std::move(request));
  lose_connection(owner, kGrace);
  EXPECT_EQ(status_of(ask(connect(1001), reoffer_of(made, terms))), HB_NOT_FOUND);
  const SessionId back = connect(1000);
  ExportRequest wider = terms;
  wider.acl = {uid_writes(1001)};
  EXPECT_EQ(status_of(ask(back, reoffer_of(made, wider))), HB_NOT_FOUND);
  Exported forged = made;
  forged.token[3] ^= 1;
  EXPECT_EQ(status_of(ask(back, reoffer_of(forged, terms))), HB_NOT_FOUND);
  Exported older = made;
  ++older.generation;
  EXPECT_EQ(status_of(ask(back, reoffer_of(older, terms))), HB_NOT_FOUND);
  ok(ask(back, reoffer_of(made, terms)));
  // Once more, of an answer that was lost; and by another one.
  ok(ask(back, reoffer_of(made, terms)));
  EXPECT_EQ(status_of(ask(connect(1000), reoffer_of(made, terms))), HB_EXISTS);
  EXPECT_EQ(status_of(ask(connect_admin(), reoffer_of(made, terms))), HB_DENIED);
}

TEST_F(AwaitingTest, WhatSleptAsItsOwnerWantedSleepsOn) {
  const SessionId owner = connect(1000);
  const ExportRequest request = simple("kv");
  const ExportRequest terms = terms_of(request);
  const Exported made = exported(owner, request);
  ok(ask(owner, SuspendRequest{made.id, 0}));
  lose_connection(owner, kGrace);
  const SessionId back = connect(1000);
  ok(ask(back, reoffer_of(made, terms)));
  advance(2 * kGrace);
  EXPECT_EQ(std::get<Exported>(ok(resume(back, made.id, 1))).layout_version, 3u);
}

TEST_F(AwaitingTest, WhatOutlivesItsOwnerKeepsItsMemory) {
  const SessionId owner = connect(1000);
  ExportRequest request = simple("kv");
  request.lifetime = Lifetime::kLinger;
  request.linger_ns = 3600 * kSecond;
  const ExportRequest terms = terms_of(request);
  const Exported made = exported(owner, std::move(request));
  lose_connection(owner, kGrace);
  EXPECT_EQ(open_handles(), 1u);
  advance(2 * kGrace);
  const SessionId back = connect(1000);
  EXPECT_EQ(acquired(back, by_key(made.key)).exported.id, made.id);
  const Exported again = std::get<Exported>(ok(ask(back, reoffer_of(made, terms))));
  EXPECT_EQ(again.received_chunks, 1u);  // nothing is wanted
  EXPECT_EQ(again.generation, made.generation);
  // And nobody is left who could bring back what is lost of an orphan.
  lose_connection(back, kGrace);
  lose_all_handles(kGrace);
  EXPECT_EQ(status_of(ask(connect(1000), by_key(made.key))), HB_GONE);
}

TEST_F(AwaitingTest, WhatWasHalfSentIsGone) {
  const SessionId owner = connect(1000);
  ExportRequest request = chunked("kv", 2, 4096);
  request.chunks.pop_back();
  request.handles.pop_back();
  const Exported begun = std::get<Exported>(ok(ask(owner, std::move(request))));
  EXPECT_FALSE(begun.complete);
  lose_all_handles(kGrace);
  EXPECT_EQ(counters().stagings, 0u);
  EXPECT_EQ(exported(owner, simple("kv")).generation, 1u);
}

TEST_F(AwaitingTest, AMissingDescriptorEndsTheTicketsThatPinned) {
  const SessionId owner = connect(1000);
  const Exported made = exported(owner, simple("kv"));
  MakeTicketRequest ticket;
  ticket.id = made.id;
  ticket.access = Access::kRead;
  ticket.ttl_ns = kSecond;
  const KeyBytes key = std::get<TicketMade>(ok(ask(owner, ticket))).ticket;
  ok(ask(owner, WithdrawRequest{made.id, false, 0}));
  EXPECT_EQ(open_handles(), 1u);
  lose_all_handles(kGrace);
  EXPECT_EQ(open_handles(), 0u);
  EXPECT_EQ(status_of(ask(owner, by_key(key))), HB_GONE);
}

// Its client sends it again behind many that are younger.
TEST_F(AwaitingTest, WhatWasReceivedAndNotCarriedOutIsNewWhenItComesAgain) {
  const SessionId owner = connect(1000);
  broker.note_unanswered(owner, 5);
  for (std::uint64_t id = 100; id < 120; ++id) ok(ask_as(owner, id, simple("kv" + std::to_string(id))));
  EXPECT_EQ(status_of(ask_as(owner, 6, simple("never received"))), HB_PROTO);
  ok(ask_as(owner, 5, simple("late")));
  // What was answered is not new by that.
  broker.note_unanswered(owner, 119);
  EXPECT_EQ(std::get<Exported>(ok(ask_as(owner, 119, simple("kv119")))).generation, 1u);
  EXPECT_EQ(counters().exports, 21u);
}

// The records are lost as well: what is left is that a token is true.
class ForgottenTest : public AwaitingTest {
 protected:
  ForgottenTest() : AwaitingTest(true) {
    record::Floors floors;
    floors.sessions = floors.exports = floors.allocations = floors.leases = 4095;
    floors.export_slots = 4096;
    RecordSet known;
    known.floors.emplace_back(RecordKey{RecordKind::kFloors, 0, 0}, floors);
    EXPECT_EQ(broker.restore(known, now), "");
  }
  AwaitingTest::BrokerDriver before_{recording(false)};
};

TEST_F(ForgottenTest, ATrueTokenBringsAllOfItBack) {
  const SessionId owner = before_.connect(1000);
  ExportRequest request = before_.chunked("kv", 2, 4096);
  request.metadata = "tensor";
  request.acl = {uid_reads(1001)};
  const ExportRequest terms = terms_of(request);
  const Exported made = before_.exported(owner, std::move(request));
  const SessionId back = connect(1000);
  const Exported other = exported(back, simple("another"));
  EXPECT_NE(other.id, made.id);
  ok(ask(back, reoffer_of(made, terms)));
  EXPECT_EQ(std::get<Exported>(ok(resume(back, made.id, 2))).key, made.key);
  const Acquired held = acquired(connect(1001), by_key(made.key));
  EXPECT_EQ(*held.exported.metadata, "tensor");
  EXPECT_EQ(held.exported.generation, made.generation);
  ok(ask(back, WithdrawRequest{made.id, false, 0}));
  EXPECT_GT(exported(back, simple("kv")).generation, made.generation);
}

// No token vouches for it, and counting on from the highest would begin at 0.
TEST_F(ForgottenTest, AVersionThatNobodyGetsToIsRefused) {
  const SessionId owner = before_.connect(1000);
  const ExportRequest request = before_.simple("kv");
  ReofferRequest again = reoffer_of(before_.exported(owner, request), terms_of(request));
  again.layout_version = UINT64_MAX;
  EXPECT_EQ(status_of(ask(connect(1000), again)), HB_RANGE);
}

TEST_F(ForgottenTest, ANameThatIsTakenIsNotGivenBack) {
  const SessionId owner = before_.connect(1000);
  const ExportRequest request = before_.simple("kv");
  const ExportRequest terms = terms_of(request);
  const Exported made = before_.exported(owner, request);
  const SessionId back = connect(1000);
  exported(back, simple("kv"));
  EXPECT_EQ(status_of(ask(back, reoffer_of(made, terms))), HB_EXISTS);
}

TEST_F(ForgottenTest, OneWhoseChunksNeverComeIsGone) {
  const SessionId owner = before_.connect(1000);
  const ExportRequest request = before_.simple("kv");
  const ExportRequest terms = terms_of(request);
  const Exported made = before_.exported(owner, request);
  const SessionId back = connect(1000);
  ok(ask(back, reoffer_of(made, terms)));
  advance(3600 * kSecond);
  EXPECT_EQ(counters().exports, 0u);
  EXPECT_EQ(status_of(ask(back, reoffer_of(made, terms))), HB_GONE);
}

}  // namespace
}  // namespace hb::test
