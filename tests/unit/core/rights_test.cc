// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// The node's policy is asked before any access list: what a principal may not do at all is DENIED, and what
// it has stays.
#include <gmock/gmock.h>

#include "unit/core/broker_driver.h"

namespace hb::test {
namespace {

using namespace core;
using testing::HasSubstr;

class RightsTest : public BrokerDriver, public testing::Test {
 protected:
  void only(Verb verb) { broker.set_terms(session, Rights::none().with(verb), nullptr); }
  void without(Verb verb) { broker.set_terms(session, Rights::all().without(verb), nullptr); }
  void expect_denied(Request request, std::string_view verb) {
    const ReplyBody body = ask(session, std::move(request));
    ASSERT_EQ(status_of(body), HB_DENIED);
    EXPECT_THAT(error_of(body).message, HasSubstr("does not let uid 1000 " + std::string(verb)));
    EXPECT_THAT(error_of(body).message, HasSubstr("check-policy --as 1000"));
  }
  static ExportRequest lasting(ExportRequest request) {
    request.lifetime = Lifetime::kPersist;
    return request;
  }
  ChangeRequest change(ExportId id, ChangeRequest::Kind kind) {
    ExportRequest made = simple("");
    ChangeRequest out;
    out.id = id;
    out.kind = kind;
    out.total_chunks = out.distinct_handles = 1;
    out.total_size = made.total_size;
    out.chunks = std::move(made.chunks);
    out.handles = std::move(made.handles);
    return out;
  }
  SessionId session = connect(1000);
};

TEST_F(RightsTest, Export) {
  ExportRequest request = simple("kv");
  request.max_size = kMiB;
  const Exported out = exported(session, std::move(request));
  without(Verb::kExport);
  expect_denied(simple("more"), "export");
  expect_denied(change(out.id, ChangeRequest::Kind::kAppend), "export");
  expect_denied(ClaimRequest{NameRef{"kv", {}}, Lifetime::kOwner, 0}, "export");
  EXPECT_EQ(open_handles(), 1u);
  // What is there can be looked after and given back.
  EXPECT_EQ(status_of(ask(session, change(out.id, ChangeRequest::Kind::kReplace))), HB_OK);
  EXPECT_EQ(status_of(ask(session, SuspendRequest{out.id, 0})), HB_OK);
  EXPECT_EQ(status_of(ask(session, change(out.id, ChangeRequest::Kind::kResume))), HB_OK);
  EXPECT_EQ(status_of(ask(session, WithdrawRequest{out.id, false, 0})), HB_OK);
}

TEST_F(RightsTest, Acquire) {
  const Exported out = exported(session, simple("kv"));
  const Acquired held = acquired(session, by_key(out.key));
  without(Verb::kAcquire);
  expect_denied(by_key(out.key), "acquire");
  expect_denied(by_name("no such thing"), "acquire");
  expect_denied(waiting(by_name("later"), kSecond), "acquire");
  MakeTicketRequest ticket;
  ticket.lease = held.lease;
  ticket.ttl_ns = kSecond;
  expect_denied(ticket, "acquire");
  EXPECT_EQ(status_of(ask(session, RefreshRequest{held.lease, 1, {}})), HB_OK);
  EXPECT_EQ(status_of(ask(session, FetchRequest{held.lease, 0, 1})), HB_OK);
  EXPECT_EQ(status_of(ask(session, ReleaseRequest{held.lease})), HB_OK);
}

TEST_F(RightsTest, AWaitIsAnsweredByTheRightsOfItsEnd) {
  const SessionId owner = connect(1001);
  const std::uint64_t id = send(session, waiting(by_name("kv", 1001), 10 * kSecond));
  without(Verb::kAcquire);
  ExportRequest request = simple("kv");
  request.acl = {uid_reads(1000)};
  exported(owner, std::move(request));
  const Reply* answer = answer_to(session, id);
  ASSERT_NE(answer, nullptr);
  EXPECT_EQ(status_of(answer->body), HB_DENIED);
}

TEST_F(RightsTest, List) {
  exported(session, simple("kv"));
  without(Verb::kList);
  expect_denied(ListRequest{}, "list");
  expect_denied(ShowRequest{NameRef{"kv", {}}, 0}, "list");
  expect_denied(WhoRequest{}, "list");
  EXPECT_EQ(status_of(ask(session, QuotaListRequest{})), HB_OK);
}

TEST_F(RightsTest, PersistAndRevoke) {
  without(Verb::kPersist);
  expect_denied(lasting(simple("kv")), "persist");
  without(Verb::kRevoke);
  const Exported out = exported(session, lasting(simple("kv")));
  expect_denied(RevokeRequest{out.id, 0}, "revoke");
  only(Verb::kRevoke);
  EXPECT_EQ(status_of(ask(session, RevokeRequest{out.id, 0})), HB_OK);
}

TEST_F(RightsTest, JoiningAGroupGivesAndTakes) {
  const Exported out = exported(session, simple("kv"));
  JoinRequest join;
  join.name = "heap";
  join.world = 1;
  join.offer = out.id;
  without(Verb::kAcquire);
  expect_denied(join, "acquire");
  without(Verb::kExport);
  expect_denied(join, "export");
}

TEST_F(RightsTest, ARankThatWaitedIsJudgedByItsRightsAtTheMeeting) {
  const SessionId other = connect(1000);
  JoinRequest join;
  join.name = "heap";
  join.world = 2;
  join.wait_ns = 10 * kSecond;
  join.offer = exported(session, simple("mine")).id;
  const std::uint64_t waiting = send(session, join);
  without(Verb::kAcquire);
  join.rank = 1;
  join.offer = exported(other, simple("theirs")).id;
  const ReplyBody last = ask(other, join);
  EXPECT_EQ(status_of(last), HB_DENIED);
  EXPECT_THAT(error_of(last).message, HasSubstr("rank 0"));
  ASSERT_NE(answer_to(session, waiting), nullptr);
  EXPECT_EQ(status_of(answer_to(session, waiting)->body), HB_DENIED);
  EXPECT_EQ(counters().leases, 0u);
}

TEST_F(RightsTest, ThePolicyBindsNoAdmin) {
  const SessionId admin = connect_admin();
  const Exported out = exported(session, simple("kv"));
  broker.set_terms(admin, Rights::none(), nullptr);
  EXPECT_EQ(std::get<Listed>(ask(admin, ListRequest{})).exports.size(), 1u);
  EXPECT_EQ(status_of(ask(admin, RevokeRequest{out.id, 0})), HB_OK);
}

}  // namespace
}  // namespace hb::test
