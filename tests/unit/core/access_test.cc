// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include <gmock/gmock.h>

#include "core/broker.h"
#include "unit/core/broker_driver.h"

namespace hb::test {
namespace {

using namespace core;
using testing::HasSubstr;
using testing::Not;

class AccessTest : public testing::Test, public BrokerDriver {
 protected:
  SessionId owner = connect(1001);
  SessionId reader = connect(1002);
  SessionId stranger = connect(1003);
  Exported shared(const std::string& name = "tensor", std::vector<AclEntry> acl = {uid_reads(1002)}) {
    ExportRequest request = simple(name);
    request.acl = std::move(acl);
    return exported(owner, std::move(request));
  }
  KeyBytes changed(const Exported& from, std::function<void(KeyFields&)> change) {
    KeyFields fields = decode_key(from.key);
    change(fields);
    return encode_key(fields, from.secret);
  }
};

TEST_F(AccessTest, B12_OnlyTheGrantedUidReadsAndOnlyATrueKeyIsDenied) {
  const Exported out = shared();
  acquired(reader, by_name("tensor", 1001));
  acquired(reader, by_key(out.key));
  EXPECT_EQ(status_of(ask(stranger, by_name("tensor", 1001))), HB_NOT_FOUND);
  const ReplyBody denied = ask(stranger, by_key(out.key));
  EXPECT_EQ(status_of(denied), HB_DENIED);
  EXPECT_THAT(error_of(denied).message, Not(HasSubstr("tensor")));
  EXPECT_THAT(error_of(denied).message, Not(HasSubstr("1001")));
  EXPECT_TRUE(std::get<Listed>(ask(stranger, ListRequest{})).exports.empty());
  EXPECT_EQ(std::get<Listed>(ask(reader, ListRequest{})).exports.size(), 1u);
  EXPECT_EQ(status_of(ask(reader, WithdrawRequest{NameRef{"tensor", 1001}, false})), HB_DENIED);
  EXPECT_EQ(status_of(ask(stranger, WithdrawRequest{NameRef{"tensor", 1001}, false})), HB_NOT_FOUND);
  EXPECT_EQ(status_of(ask(stranger, WithdrawRequest{out.id, false})), HB_NOT_FOUND);
  EXPECT_EQ(status_of(ask(reader, WithdrawRequest{out.id, false})), HB_DENIED);
}

TEST_F(AccessTest, B12_TheAdminSocketSeesAllAndRootOnTheMainSocketDoesNot) {
  const Exported out = shared();
  const SessionId admin = connect_admin();
  const SessionId root = connect(0);
  EXPECT_EQ(std::get<Listed>(ask(admin, ListRequest{})).exports.size(), 1u);
  EXPECT_EQ(std::get<Shown>(ask(admin, ShowRequest{out.id, 0})).acl.size(), 1u);
  EXPECT_TRUE(std::get<Listed>(ask(root, ListRequest{})).exports.empty());
  EXPECT_EQ(status_of(ask(root, by_name("tensor", 1001))), HB_NOT_FOUND);
  EXPECT_EQ(status_of(ask(root, by_key(out.key))), HB_DENIED);
  EXPECT_EQ(status_of(ask(admin, by_key(out.key))), HB_DENIED);
  EXPECT_THAT(error_of(ask(admin, by_key(out.key))).message, HasSubstr("main socket"));
  EXPECT_EQ(status_of(ask(admin, WithdrawRequest{out.id, false})), HB_UNSUPPORTED);
}

TEST_F(AccessTest, TwoUidsHoldOneNameAndNeitherMeetsTheOther) {
  const SessionId squatter = connect(1009);
  ExportRequest bait = simple("tensor", 8192);
  bait.acl = {uid_reads(1001), uid_reads(1002)};
  exported(squatter, std::move(bait));
  EXPECT_EQ(status_of(ask(owner, by_name("tensor"))), HB_NOT_FOUND);
  shared();
  EXPECT_EQ(acquired(owner, by_name("tensor")).exported.owner_uid, 1001u);
  EXPECT_EQ(acquired(reader, by_name("tensor", 1001)).exported.owner_uid, 1001u);
}

TEST_F(AccessTest, AGroupGrantReachesItsMembers) {
  shared("tensor", {gid_reads(500)});
  acquired(connect(1005, {500}), by_name("tensor", 1001));
  EXPECT_EQ(status_of(ask(connect(500), by_name("tensor", 1001))), HB_OK);  // its own gid
  EXPECT_EQ(status_of(ask(connect(1006, {501}), by_name("tensor", 1001))), HB_NOT_FOUND);
}

TEST_F(AccessTest, WriteIsDeniedToReadersAndReadOnlyWhereNobodyMayWrite) {
  const Exported out = shared();
  EXPECT_EQ(status_of(ask(reader, writing(by_key(out.key)))), HB_DENIED);
  acquired(owner, writing(by_key(out.key)));
  const Exported both = shared("w", {uid_writes(1002)});
  EXPECT_EQ(acquired(reader, writing(by_key(both.key))).access, Access::kReadWrite);
  ExportRequest capped = simple("r");
  capped.max_access = Access::kRead;
  capped.acl = {uid_reads(1002)};
  const Exported read_only = exported(owner, std::move(capped));
  EXPECT_EQ(status_of(ask(reader, writing(by_key(read_only.key)))), HB_READ_ONLY);
  EXPECT_EQ(status_of(ask(stranger, writing(by_key(read_only.key)))), HB_DENIED);
}

TEST_F(AccessTest, AKeyThatIsNotTrueNamesNothing) {
  const Exported out = shared();
  KeyBytes damaged = out.key;
  damaged[63] ^= 1;
  EXPECT_EQ(status_of(ask(reader, by_key(damaged))), HB_NOT_FOUND);
  EXPECT_EQ(status_of(ask(reader, by_key(changed(out, [](auto& f) { f.broker[3] ^= 1; })))), HB_NOT_FOUND);
  EXPECT_EQ(status_of(ask(reader, by_key(changed(out, [](auto& f) { f.export_id += 1; })))), HB_NOT_FOUND);
  EXPECT_EQ(status_of(ask(reader, by_key(changed(out, [](auto& f) { f.export_id += 1ull << 32; })))),
            HB_NOT_FOUND);
  EXPECT_EQ(status_of(ask(reader, by_key(changed(out, [](auto& f) { f.generation = 0; })))), HB_NOT_FOUND);
  EXPECT_EQ(status_of(ask(reader, by_key(changed(out, [](auto& f) { f.generation = 2; })))), HB_NOT_FOUND);
  EXPECT_EQ(status_of(ask(reader, by_key(changed(out, [](auto& f) { f.version = 2; })))), HB_VERSION);
  EXPECT_EQ(status_of(ask(reader, by_key(changed(out, [](auto& f) { f.kind = KeyKind::kTicket; })))),
            HB_NOT_FOUND);
  EXPECT_EQ(status_of(ask(reader, by_key(changed(out, [](auto& f) { f.kind = KeyKind{2}; })))),
            HB_UNSUPPORTED);
}

TEST_F(AccessTest, AKeyOfAnotherScopeIsLikeARandomKey) {
  const Exported out = shared();
  const SessionId elsewhere = connect(1001, {}, 9);
  const ReplyBody foreign = ask(elsewhere, by_key(out.key));
  const ReplyBody random = ask(elsewhere, by_key(KeyBytes{1}));
  EXPECT_EQ(status_of(foreign), HB_NOT_FOUND);
  EXPECT_EQ(error_of(foreign).message, error_of(random).message);
  EXPECT_EQ(status_of(ask(elsewhere, by_name("tensor", 1001))), HB_NOT_FOUND);
  EXPECT_TRUE(std::get<Listed>(ask(elsewhere, ListRequest{})).exports.empty());
}

TEST_F(AccessTest, B02_AWithdrawnKeyIsGoneAtOnceForThoseWhoCouldRead) {
  const Exported out = shared();
  ask(owner, WithdrawRequest{out.id, false});
  EXPECT_EQ(status_of(ask(owner, by_key(out.key))), HB_GONE);
  EXPECT_EQ(status_of(ask(reader, by_key(out.key))), HB_GONE);
  const ReplyBody unknown = ask(stranger, by_key(out.key));
  EXPECT_EQ(status_of(unknown), HB_NOT_FOUND);
  EXPECT_EQ(error_of(unknown).message, error_of(ask(stranger, by_key(KeyBytes{1}))).message);
  EXPECT_EQ(status_of(ask(owner, by_name("tensor"))), HB_NOT_FOUND);
}

TEST_F(AccessTest, AnOlderGenerationIsStaleOnlyForThoseWhoCouldRead) {
  const Exported old = shared();
  ask(owner, WithdrawRequest{old.id, false});
  shared("tensor", {uid_reads(1004)});
  EXPECT_EQ(status_of(ask(owner, by_key(old.key))), HB_STALE);
  EXPECT_EQ(status_of(ask(reader, by_key(old.key))), HB_STALE);
  // It may read what bears the name now, and cannot tell that there was something before.
  EXPECT_EQ(status_of(ask(connect(1004), by_key(old.key))), HB_NOT_FOUND);
  EXPECT_EQ(status_of(ask(stranger, by_key(old.key))), HB_NOT_FOUND);
  KeyBytes forged = old.key;
  forged[40] ^= 1;
  EXPECT_EQ(status_of(ask(reader, by_key(forged))), HB_NOT_FOUND);
}

TEST_F(AccessTest, EndsAreForgottenAfterATimeAndOldestFirst) {
  BrokerConfig config = default_config();
  config.ended_exports = 2;
  config.ended_export_ns = 10 * kSecond;
  BrokerDriver small(config);
  const SessionId session = small.connect(1000);
  std::vector<Exported> old;
  for (int i = 0; i < 3; ++i) {
    old.push_back(small.exported(session, small.simple("")));
    small.ask(session, WithdrawRequest{old.back().id, false});
  }
  EXPECT_EQ(status_of(small.ask(session, by_key(old[0].key))), HB_NOT_FOUND);
  EXPECT_EQ(status_of(small.ask(session, by_key(old[1].key))), HB_GONE);
  EXPECT_EQ(small.counters().ended_remembered, 2u);
  EXPECT_EQ(small.broker.next_deadline(), small.now + 10 * kSecond);
  small.now += 10 * kSecond;  // seen at lookup, without a tick
  EXPECT_EQ(status_of(small.ask(session, by_key(old[2].key))), HB_NOT_FOUND);
  EXPECT_EQ(small.counters().ended_remembered, 0u);
  EXPECT_EQ(small.broker.next_deadline(), kNever);
}

TEST_F(AccessTest, AForgottenNameStartsANewExport) {
  BrokerConfig config = default_config();
  config.ended_exports = 1;
  BrokerDriver small(config);
  const SessionId session = small.connect(1000);
  const Exported first = small.exported(session, small.simple("a"));
  small.ask(session, WithdrawRequest{first.id, false});
  small.exported(session, small.simple("b"));
  small.ask(session, WithdrawRequest{NameRef{"b", {}}, false});
  const Exported second = small.exported(session, small.simple("a"));
  EXPECT_NE(second.id, first.id);
  EXPECT_EQ(second.generation, 1u);
  EXPECT_EQ(status_of(small.ask(session, by_key(first.key))), HB_NOT_FOUND);
}

TEST_F(AccessTest, AnAclBelongsToItsGeneration) {
  const Exported old = shared();
  ask(owner, WithdrawRequest{old.id, false});
  const Exported young = shared("tensor", {});
  EXPECT_EQ(status_of(ask(reader, by_name("tensor", 1001))), HB_NOT_FOUND);
  EXPECT_EQ(status_of(ask(reader, by_key(young.key))), HB_DENIED);
}

TEST_F(AccessTest, AnAcquireNeedsAWordAboutWhat) {
  EXPECT_EQ(status_of(ask(owner, AcquireRequest{})), HB_INVALID);
  AcquireRequest by_id;
  by_id.target = shared().id;
  EXPECT_EQ(status_of(ask(owner, by_id)), HB_INVALID);
  AcquireRequest odd = by_name("tensor");
  odd.access = static_cast<Access>(2);
  EXPECT_EQ(status_of(ask(owner, odd)), HB_INVALID);
  EXPECT_EQ(status_of(ask(owner, by_name("a\nb"))), HB_INVALID);
}

// For check-policy: about somebody who is not here.
TEST_F(AccessTest, WhatTheAccessListGivesIsExplained) {
  const Exported out = shared("tensor", {uid_reads(1002), {AclEntry::Kind::kGid, 44, Access::kReadWrite}});
  const auto about = [&](std::uint32_t uid, std::vector<std::uint32_t> groups, std::uint64_t scope = 0) {
    Principal who;
    who.scope = ScopeId{scope};
    who.uid = uid;
    who.groups = std::move(groups);
    return broker.explain(who, NameRef{"tensor", 1001});
  };
  ASSERT_TRUE(about(1002, {}));
  EXPECT_EQ(about(1002, {})->id, out.id);
  EXPECT_EQ(about(1002, {})->state, ExportState::kLive);
  EXPECT_EQ(about(1002, {})->access, Access::kRead);
  EXPECT_EQ(about(1002, {})->reason, "the access list of its owner, uid 1001, gives read to uid 1002");
  EXPECT_EQ(about(1002, {7, 44})->access, Access::kReadWrite);
  EXPECT_EQ(about(1002, {7, 44})->reason,
            "the access list of its owner, uid 1001, gives read to uid 1002, read and write to gid 44");
  EXPECT_EQ(about(1001, {})->access, Access::kReadWrite);
  EXPECT_EQ(about(1001, {})->reason, "uid 1001 owns it, and has all that it gives: read and write");
  EXPECT_EQ(about(44, {7})->access, Access::kNone) << "a uid is no gid";
  EXPECT_EQ(
      about(44, {7})->reason,
      "its owner, uid 1001, gave uid 44 nothing; the access list gives read to uid 1002, read and write "
      "to gid 44");
  EXPECT_FALSE(about(1002, {}, 9)) << "another scope has other names";
  EXPECT_FALSE(broker.explain(Principal{}, NameRef{"tensor", std::nullopt}));
}

TEST_F(AccessTest, AnExportGivesNoMoreThanItsOwnAccess) {
  ExportRequest request = simple("read-only");
  request.max_access = Access::kRead;
  request.acl = {uid_reads(1002)};
  exported(owner, std::move(request));
  Principal who;
  who.uid = 1002;
  EXPECT_EQ(broker.explain(who, NameRef{"read-only", 1001})->reason,
            "the access list of its owner, uid 1001, gives read to uid 1002; the export gives read at most");
  exported(owner, simple("private"));
  EXPECT_EQ(broker.explain(who, NameRef{"private", 1001})->reason,
            "its owner, uid 1001, gave access to nobody");
}

}  // namespace
}  // namespace hb::test
