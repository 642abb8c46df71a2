// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// A scope is a name space of its own: nothing of another is seen, taken or charged, and it can be taken away.
#include <gmock/gmock.h>

#include "unit/core/broker_driver.h"

namespace hb::test {
namespace {

using namespace core;

class ScopeTest : public BrokerDriver, public testing::Test {
 protected:
  void TearDown() override { EXPECT_EQ(check_invariants(broker), ""); }
  // Root of two containers.
  SessionId here = connect(0, {}, 1);
  SessionId there = connect(0, {}, 2);
};

TEST_F(ScopeTest, AKeyOfAnotherScopeAnswersLikeARandomOne) {
  const Exported out = exported(here, simple("kv"));
  const ReplyBody foreign = ask(there, by_key(out.key));
  KeyBytes random = out.key;
  for (std::size_t i = 20; i < random.size(); ++i) random[i] ^= 0x5a;
  const ReplyBody unknown = ask(there, by_key(random));
  EXPECT_EQ(status_of(foreign), HB_NOT_FOUND);
  EXPECT_EQ(status_of(unknown), HB_NOT_FOUND);
  EXPECT_EQ(error_of(foreign).message, error_of(unknown).message);
  EXPECT_EQ(status_of(ask(connect(0), by_key(out.key))), HB_NOT_FOUND);  // the main one is another, too
}

TEST_F(ScopeTest, RootOfOneSeesRevokesClaimsAndChargesNothingOfAnother) {
  const Exported out = exported(here, simple("kv"));
  EXPECT_TRUE(std::get<Listed>(ask(there, ListRequest{})).exports.empty());
  EXPECT_TRUE(std::get<WhoListed>(ask(there, WhoRequest{})).holders.empty());
  for (const Target& target : {Target(NameRef{"kv", 0}), Target(out.id), Target(out.key)}) {
    EXPECT_EQ(status_of(ask(there, RevokeRequest{target, 0})), HB_NOT_FOUND);
    EXPECT_EQ(status_of(ask(there, ShowRequest{target, 0})), HB_NOT_FOUND);
    if (std::holds_alternative<KeyBytes>(target)) continue;  // a key withdraws nothing anywhere
    EXPECT_EQ(status_of(ask(there, WithdrawRequest{target, false, 0})), HB_NOT_FOUND);
  }
  EXPECT_EQ(status_of(ask(there, ClaimRequest{NameRef{"kv", {}}, Lifetime::kOwner, 0})), HB_NOT_FOUND);
  exported(there, simple("kv"));
  const auto bytes = [&](SessionId session) {
    return std::get<QuotaListed>(ask(session, QuotaListRequest{}))
        .accounts.at(0)
        .used[static_cast<std::size_t>(Resource::kBytes)];
  };
  EXPECT_EQ(bytes(here), 4 * kKiB);
  EXPECT_EQ(bytes(there), 4 * kKiB);
}

TEST_F(ScopeTest, TakenAwayItLeavesNothing) {
  const Exported out = exported(here, simple("kv"));
  acquired(connect(0, {}, 1), by_key(out.key));
  {
    const SessionId gone = connect(5, {}, 1);
    ExportRequest orphan = simple("left");
    orphan.lifetime = Lifetime::kLinger;
    orphan.linger_ns = 100 * kSecond;
    const Exported left = exported(gone, std::move(orphan));
    MakeTicketRequest ticket;
    ticket.id = left.id;
    ticket.ttl_ns = 100 * kSecond;
    EXPECT_EQ(status_of(ask(gone, ticket)), HB_OK);
    exported(gone, simple("ended"));
    disconnect(gone);
  }
  const Exported other = exported(there, simple("kv"));
  EXPECT_EQ(counters().exports, 3u);
  const Broker::ScopeUse removed = broker.scope_use(ScopeId{1}).value();
  remove_scope(1);
  EXPECT_EQ(removed.name, "scope-1");
  EXPECT_EQ(removed.used[static_cast<std::size_t>(Resource::kExports)], 2u);
  EXPECT_EQ(removed.used[static_cast<std::size_t>(Resource::kTickets)], 1u);
  EXPECT_EQ(counters().exports, 1u);
  EXPECT_EQ(counters().sessions, 1u);
  EXPECT_EQ(counters().tickets, 0u);
  EXPECT_EQ(counters().leases, 0u);
  EXPECT_EQ(counters().ended_remembered, 0u);
  EXPECT_EQ(open_handles(), 1u);
  EXPECT_FALSE(broker.scope_use(ScopeId{1}));
  acquired(there, by_key(other.key));
  Principal late;
  late.scope = ScopeId{1};
  const auto refused = broker.connect(late, {}, now);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().status, HB_GONE);
}

TEST_F(ScopeTest, TheAdminsNameIsOfAnyScopeThatAloneHasIt) {
  const SessionId admin = connect_admin();
  const Exported only = exported(here, simple("only"));
  EXPECT_EQ(std::get<Shown>(ask(admin, ShowRequest{NameRef{"only", 0}, 0})).info.view.id, only.id);
  exported(here, simple("both"));
  const Exported other = exported(there, simple("both"));
  const ReplyBody refused = ask(admin, RevokeRequest{NameRef{"both", 0}, 0});
  EXPECT_EQ(status_of(refused), HB_INVALID);
  EXPECT_THAT(error_of(refused).message, testing::HasSubstr("scope-1, scope-2"));
  EXPECT_EQ(counters().exports, 3u);
  EXPECT_EQ(status_of(ask(admin, RevokeRequest{other.id, 0})), HB_OK);
  EXPECT_EQ(status_of(ask(admin, RevokeRequest{NameRef{"both", 0}, 0})), HB_OK);  // the one that is left
  EXPECT_EQ(status_of(ask(admin, ShowRequest{NameRef{"nowhere", 0}, 0})), HB_NOT_FOUND);
}

TEST_F(ScopeTest, TheMainOneStays) {
  const SessionId session = connect(1000);
  exported(session, simple("kv"));
  remove_scope(0);
  EXPECT_EQ(counters().exports, 1u);
  EXPECT_EQ(counters().sessions, 3u);
}

}  // namespace
}  // namespace hb::test
