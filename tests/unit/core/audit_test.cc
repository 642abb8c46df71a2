// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// What the core tells the audit trail.
#include <gtest/gtest.h>

#include "unit/core/group_driver.h"
#include "unit/core/ticket_fixture.h"

namespace hb::test {
namespace {

using namespace core;

std::vector<Audit> audits_in(const Effects& effects) {
  std::vector<Audit> out;
  for (const Effect& effect : effects)
    if (const auto* audit = std::get_if<Audit>(&effect)) out.push_back(*audit);
  return out;
}

class AuditTest : public TicketFixture {
 protected:
  [[nodiscard]] std::vector<Audit> told() const { return audits_in(effects); }
  // The one record of the last event; a failure when there is none, or another.
  Audit only() {
    const auto all = told();
    EXPECT_EQ(all.size(), 1u);
    return all.empty() ? Audit() : all.front();
  }
};

TEST_F(AuditTest, ASetOfLeasesIsOneRecordAtItsBeginningAndOneAtItsEnd) {
  const Exported out = shared();
  EXPECT_TRUE(told().empty()) << "an export is no acquire";
  const Acquired first = acquired(reader, by_key(out.key));
  Audit audit = only();
  EXPECT_EQ(audit.kind, AuditKind::kAcquired);
  EXPECT_EQ(audit.uid, 1001u);
  EXPECT_EQ(audit.exported, out.id);
  EXPECT_EQ(audit.name, "kv");
  EXPECT_EQ(audit.owner_uid, 1000u);
  EXPECT_EQ(audit.generation, out.generation);
  EXPECT_EQ(audit.count, 1u);
  ASSERT_NE(audit.process, nullptr);
  const Acquired second = acquired(reader, by_key(out.key));
  EXPECT_TRUE(told().empty());
  advance(3 * kSecond);
  send_as(reader, 0, ReleaseRequest{first.lease});
  EXPECT_TRUE(told().empty());
  send_as(reader, 0, ReleaseRequest{second.lease});
  audit = only();
  EXPECT_EQ(audit.kind, AuditKind::kReleased);
  EXPECT_EQ(audit.uid, 1001u);
  EXPECT_EQ(audit.count, 2u);
  EXPECT_EQ(audit.held_ns, 3 * kSecond);
  static_cast<void>(acquired(reader, by_key(out.key)));
  EXPECT_EQ(only().kind, AuditKind::kAcquired) << "a set of its own";
}

TEST_F(AuditTest, EachSessionHasASetOfItsOwnAndItsEndIsTheSetsEnd) {
  const Exported out = shared();
  const Exported other = exported(owner, simple("other"));
  const SessionId again = connect(1001);
  static_cast<void>(acquired(reader, by_key(out.key)));
  static_cast<void>(acquired(again, by_key(out.key)));
  EXPECT_EQ(only().kind, AuditKind::kAcquired);
  static_cast<void>(acquired(owner, by_key(out.key)));
  static_cast<void>(acquired(owner, by_key(other.key)));
  static_cast<void>(acquired(owner, by_key(other.key)));
  effects.clear();
  disconnect(owner);
  const auto all = told();
  ASSERT_EQ(all.size(), 2u);
  for (const Audit& audit : all) {
    EXPECT_EQ(audit.kind, AuditKind::kReleased);
    EXPECT_EQ(audit.count, audit.exported == other.id ? 2u : 1u);
  }
}

// What is held of an ended export is held: the set ends with the lease.
TEST_F(AuditTest, TheSetOutlivesTheExport) {
  const Exported out = shared();
  const Acquired got = acquired(reader, by_key(out.key));
  disconnect(owner);
  EXPECT_TRUE(told().empty());
  send_as(reader, 0, ReleaseRequest{got.lease});
  EXPECT_EQ(only().kind, AuditKind::kReleased);
  EXPECT_EQ(only().name, "kv");
}

TEST_F(AuditTest, ATicketsLeaseCounts) {
  const Exported out = shared();
  const KeyBytes ticket = made(out);
  EXPECT_TRUE(told().empty());
  ASSERT_EQ(acquire(reader, ticket), HB_OK);
  EXPECT_EQ(only().kind, AuditKind::kAcquired);
  EXPECT_EQ(only().exported, out.id);
}

TEST_F(AuditTest, ARefusalTellsWhatWasAskedOfWhat) {
  const Exported out = exported(owner, simple("kv"));
  EXPECT_EQ(status_of(ask(stranger, by_key(out.key))), HB_DENIED);
  Audit audit = only();
  EXPECT_EQ(audit.kind, AuditKind::kRefused);
  EXPECT_EQ(audit.status, HB_DENIED);
  EXPECT_EQ(audit.uid, 1002u);
  EXPECT_EQ(audit.exported, out.id);
  EXPECT_EQ(audit.name, "kv");
  EXPECT_NE(audit.frame_type, 0);
  EXPECT_FALSE(audit.reason.empty());
  // By name it cannot be known to exist: no refusal, and nothing for the trail.
  EXPECT_EQ(status_of(ask(stranger, by_name("kv", 1000))), HB_NOT_FOUND);
  EXPECT_TRUE(told().empty());
  // Neither is what has gone.
  disconnect(owner);
  const SessionId late = connect(1000);
  EXPECT_EQ(status_of(ask(late, by_key(out.key))), HB_GONE);
  EXPECT_TRUE(told().empty());
}

TEST_F(AuditTest, AKeyThatDoesNotVerifyIsAGuess) {
  const Exported out = shared();
  KeyBytes guess = out.key;
  guess.back() ^= 1;
  EXPECT_EQ(status_of(ask(reader, by_key(guess))), HB_NOT_FOUND);
  EXPECT_EQ(only().kind, AuditKind::kRefused);
  EXPECT_EQ(only().status, HB_NOT_FOUND);
  EXPECT_EQ(only().exported, out.id);
}

TEST_F(AuditTest, ALimitIsAQuotaRecordWithItsNumbers) {
  auto limits = std::make_shared<LimitSet>(LimitSet::built_in());
  limits->set(Resource::kLeases, 1);
  broker.set_terms(reader, Rights::usual(), limits);
  const Exported out = shared();
  static_cast<void>(acquired(reader, by_key(out.key)));
  EXPECT_EQ(status_of(ask(reader, by_key(out.key))), HB_QUOTA);
  const Audit audit = only();
  EXPECT_EQ(audit.kind, AuditKind::kQuota);
  EXPECT_EQ(audit.what, "leases");
  EXPECT_EQ(audit.used, 1u);
  EXPECT_EQ(audit.limit, 1u);
  EXPECT_FALSE(audit.who.empty());
}

TEST_F(AuditTest, AnAnswerGivenAgainIsNotToldAgain) {
  const Exported out = exported(owner, simple("kv"));
  EXPECT_EQ(status_of(ask_as(stranger, 900, by_key(out.key))), HB_DENIED);
  EXPECT_EQ(told().size(), 1u);
  EXPECT_EQ(status_of(ask_as(stranger, 900, by_key(out.key))), HB_DENIED);
  EXPECT_TRUE(told().empty());
}

TEST_F(AuditTest, ARevokeTellsHowManyHeldIt) {
  const Exported out = shared();
  static_cast<void>(acquired(reader, by_key(out.key)));
  static_cast<void>(acquired(reader, by_key(out.key)));
  RevokeRequest revoke;
  revoke.target = out.id;
  const SessionId admin = connect_admin();
  static_cast<void>(ask(admin, revoke));
  const Audit audit = only();
  EXPECT_EQ(audit.kind, AuditKind::kRevoked);
  EXPECT_TRUE(audit.admin);
  EXPECT_EQ(audit.name, "kv");
  EXPECT_EQ(audit.count, 2u);
  static_cast<void>(ask(admin, revoke));
  EXPECT_TRUE(told().empty()) << "it was taken back before";
}

class GroupAuditTest : public testing::Test, public GroupDriver {};

TEST_F(GroupAuditTest, AGroupsLeasesCount) {
  auto all = ranks(3);
  join_all(all);
  const auto told = audits_in(effects);
  ASSERT_EQ(told.size(), 6u) << "each of three ranks holds what the two others offer";
  for (const Audit& audit : told) EXPECT_EQ(audit.kind, AuditKind::kAcquired);
  effects.clear();
  disconnect(all[0].session);
  EXPECT_EQ(audits_in(effects).size(), 2u);
}

}  // namespace
}  // namespace hb::test
