// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Quotas of a running daemon: set by hand and by a reload, told to the right process alone.
#include <nlohmann/json.hpp>
#include <sstream>

#include "integration/quota_fixture.h"
#include "support/actor.h"

namespace hb::test {
namespace {

using testing::HasSubstr;

ProcessOptions as(std::uint32_t uid) {
  ProcessOptions options;
  options.uid = uid;
  return options;
}

class QuotaSet : public QuotaTest {
 protected:
  // Of the audit trail, as the log has them: one JSON object a line.
  std::vector<nlohmann::json> records(const std::string& event) {
    std::vector<nlohmann::json> out;
    std::istringstream log(daemon().log());
    for (std::string line; std::getline(log, line);) {
      const std::size_t brace = line.find("{\"number\"");
      if (brace == std::string::npos) continue;
      nlohmann::json record = nlohmann::json::parse(line.substr(brace), nullptr, false);
      if (!record.is_discarded() && record["event"] == event) out.push_back(std::move(record));
    }
    return out;
  }

  QuotaSet()
      : QuotaTest(with_quotas("[quota]\nexports = 4\n[[quota.override]]\nuid = [2002]\nexports = 8\n")) {}

  static std::string command_of(pid_t pid) {
    const std::string line = read_file("/proc/" + std::to_string(pid) + "/comm");
    return line.substr(0, line.find('\n'));
  }

  Answer share(Actor& who, const std::string& name) {
    who.ok("memfds", {{"fds", name}});
    return who.call("export", {{"export", name}, {"fds", name}, {"name", name}});
  }
};

TEST_F(QuotaSet, B06_OnlyTheOffenderIsToldAndHow) {
  if (!may_change_uid()) return;
  Actor a(daemon(), as(2001));
  Actor b(daemon(), as(2001));
  Actor c(daemon(), as(2002));
  for (const char* name : {"a1", "a2", "a3"}) EXPECT_EQ(share(a, name).status, HB_OK);
  EXPECT_EQ(share(b, "b1").status, HB_OK);

  const Answer refused = share(b, "b2");
  EXPECT_EQ(refused.status, HB_QUOTA) << refused;
  EXPECT_EQ(refused.text("what"), "exports");
  EXPECT_EQ(refused.number("used"), 4u);
  EXPECT_EQ(refused.number("limit"), 4u);
  EXPECT_EQ(refused.text("who"), "uid 2001");
  EXPECT_EQ(refused.message(), "limit of exports reached: 4 of 4 for uid 2001; withdraw some");
  for (Actor* one : {&a, &b, &c}) one->ok("ping");  // nobody was disconnected

  // One record, of the one that was refused. It is written by another thread.
  ASSERT_TRUE(poll_until([&] { return !records("quota").empty(); })) << daemon().log();
  const std::vector<nlohmann::json> told = records("quota");
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0]["uid"], 2001);
  EXPECT_EQ(told[0]["pid"], b.pid());
  EXPECT_EQ(told[0]["command"], command_of(b.pid()));
  EXPECT_EQ(told[0]["verb"], "export");
  EXPECT_EQ(told[0]["what"], "exports");
  EXPECT_EQ(told[0]["used"], 4);
  EXPECT_EQ(told[0]["limit"], 4);

  for (int i = 0; i < 8; ++i) EXPECT_EQ(share(c, "c" + std::to_string(i)).status, HB_OK);
  const Answer ninth = share(c, "c8");
  EXPECT_EQ(ninth.status, HB_QUOTA);
  EXPECT_EQ(ninth.number("limit"), 8u);

  a.ok("withdraw", {{"export", "a1"}});
  EXPECT_EQ(share(b, "b2").status, HB_OK);
}

TEST_F(QuotaSet, LiveSessionsHaveItAtOnceAndAnotherUidNot) {
  RawPeer tenant = peer_as(2001);
  RawPeer again = peer_as(2001);
  RawPeer other = peer_as(2003);
  const UniqueFd object = sealed_memfd(kPage, 1);
  const auto share = [&](RawPeer& peer, const std::string& name) {
    return peer.export_fds(name, {object.get()});
  };
  const auto set = set_quota(2001, {{"exports", 1}});
  ASSERT_EQ(set.status, HB_OK) << set.error.message();
  EXPECT_EQ(set.reply.sessions(), 2u);
  const auto first = share(tenant, "a");
  ASSERT_EQ(first.status, HB_OK);
  expect_quota(share(again, "b"), "exports", 1, 1, 2001);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(share(other, std::to_string(i)).status, HB_OK);
  EXPECT_EQ(account_of(2001)["exports"].limit, 1u);

  // A second limit leaves the first; a session that comes later has both.
  ASSERT_EQ(set_quota(2001, {{"leases", 7}}).status, HB_OK);
  RawPeer late = peer_as(2001);
  expect_quota(share(late, "c"), "exports", 1, 1, 2001);
  EXPECT_EQ(account_of(2001)["leases"].limit, 7u);

  ASSERT_EQ(set_quota(2001, {}, true).status, HB_OK);
  EXPECT_EQ(account_of(2001)["exports"].limit, 4u);  // the file's
  EXPECT_EQ(share(again, "b").status, HB_OK);
}

// In either way: what exists stays, what is new is refused until it is below the limit again.
TEST_F(QuotaSet, BelowWhatIsUsedWhatExistsStays) {
  RawPeer tenant = peer_as(2001);
  const UniqueFd object = sealed_memfd(kPage, 1);
  std::vector<RawAnswer<pb::ExportReply>> shared;
  for (int i = 0; i < 4; ++i) {
    shared.push_back(tenant.export_fds("kv" + std::to_string(i), {object.get()}));
    ASSERT_EQ(shared.back().status, HB_OK);
  }
  const auto everything_is_there = [&] {
    EXPECT_EQ(tenant.list().reply.exports_size(), 4);
    for (const auto& one : shared) {
      const auto lease = tenant.acquire(one.reply.key());
      EXPECT_EQ(lease.status, HB_OK) << lease.error.message();
      tenant.release(lease.reply.lease_id());
    }
  };
  EXPECT_GE(reload_with("[quota]\nexports = 2\n").sessions(), 2u);  // with the admin's
  everything_is_there();
  expect_quota(tenant.export_fds("new", {object.get()}), "exports", 4, 2, 2001);
  ASSERT_EQ(reload_with("[quota]\nexports = 10\n").errors_size(), 0);
  ASSERT_EQ(set_quota(2001, {{"exports", 3}}).status, HB_OK);  // by hand comes before the file
  everything_is_there();
  expect_quota(tenant.export_fds("new", {object.get()}), "exports", 4, 3, 2001);
  for (int i = 0; i < 2; ++i)
    EXPECT_EQ(tenant.withdraw_id(shared[static_cast<std::size_t>(i)].reply.export_id()).status, HB_OK);
  EXPECT_EQ(tenant.export_fds("new", {object.get()}).status, HB_OK);
  expect_quota(tenant.export_fds("newer", {object.get()}), "exports", 3, 3, 2001);
}

TEST_F(QuotaSet, ItOutlivesTheDaemonThatItWasSaidTo) {
  ASSERT_EQ(set_quota(2001, {{"exports", 1}, {"bytes", 300ull << 30}}).status, HB_OK);
  daemon().restart();
  RawPeer tenant = peer_as(2001);
  EXPECT_EQ(account_of(2001)["exports"].limit, 1u);
  EXPECT_EQ(account_of(2001)["bytes"].limit, 300ull << 30);
  ASSERT_EQ(set_quota(2001, {}, true).status, HB_OK);
  tenant.disconnect();
  daemon().restart();
  RawPeer once_more = peer_as(2001);
  EXPECT_EQ(account_of(2001)["exports"].limit, 4u);
}

TEST_F(QuotaSet, WhatCannotBeSetIsRefusedByName) {
  const auto message_of = [](const RawAnswer<pb::QuotaSetReply>& answer, hb_status status) {
    EXPECT_EQ(answer.status, status) << answer.error.message();
    return answer.error.message();
  };
  EXPECT_THAT(message_of(set_quota(2001, {{"exprts", 1}}), HB_INVALID),
              HasSubstr("\"exprts\" is no resource"));
  EXPECT_THAT(message_of(set_quota({}, {{"exports", 1}}), HB_INVALID), HasSubstr("main scope"));
  EXPECT_THAT(message_of(set_quota(2001, {}), HB_INVALID), HasSubstr("no limits are given"));
  EXPECT_THAT(message_of(set_quota(UINT32_MAX, {{"exports", 1}}), HB_INVALID), HasSubstr("is no uid"));
  EXPECT_THAT(message_of(set_quota(2001, {{"exports", 1}}, false, "nowhere"), HB_NOT_FOUND),
              HasSubstr("no scope \"nowhere\""));
}

}  // namespace
}  // namespace hb::test
