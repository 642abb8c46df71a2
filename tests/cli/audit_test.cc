// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Job S10: every grant, refusal and revoke of a real daemon is one record, and the admin reads them.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <map>

#include "cli/audit_reader.h"
#include "support/memfd.h"
#include "wire/limits.h"

namespace hb::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;

DaemonOptions with_quota() {
  DaemonOptions options;
  options.policy =
      "[[rule]]\nallow = [\"export\", \"acquire\", \"list\", \"revoke\"]\n[quota]\nexports = 3\n";
  return options;
}

class CliAudit : public AuditFixture {
 protected:
  CliAudit() : AuditFixture(with_quota()) {}

  RawAnswer<pb::ExportReply> share(RawPeer& owner, const std::string& name,
                                   const std::vector<pb::AclEntry>& acl = {}) {
    const UniqueFd memory = sealed_memfd(kPage, 1);
    return owner.export_fds(name, {memory.get()}, kPage, acl);
  }
};

TEST_F(CliAudit, S10FirstAcquireAndTheEndOfTheSet) {
  RawPeer owner = peer();
  RawPeer user = peer();
  const auto exported = share(owner, "kv");
  ASSERT_EQ(exported.status, HB_OK) << exported.error.message();
  const auto first = user.acquire(exported.reply.key());
  const auto second = user.acquire(exported.reply.key());
  ASSERT_EQ(second.status, HB_OK);
  json got = only("acquired");
  EXPECT_EQ(got["uid"], 0);
  EXPECT_EQ(got["pid"], ::getpid());
  EXPECT_EQ(got["scope"], "main");
  EXPECT_TRUE(got["command"].is_string());
  EXPECT_EQ(got["export"]["id"], exported.reply.export_id());
  EXPECT_EQ(got["export"]["name"], "kv");
  EXPECT_EQ(got["export"]["owner_uid"], 0);
  EXPECT_EQ(got["export"]["generation"], 1);
  EXPECT_TRUE(got["time"].is_string());
  EXPECT_TRUE(of_kind("released").empty());
  user.release(first.reply.lease_id());
  user.release(second.reply.lease_id());
  ASSERT_EQ(user.ping(), HB_OK);
  got = only("released");
  EXPECT_EQ(got["count"], 2);
  EXPECT_EQ(got["export"]["name"], "kv");
  EXPECT_GE(got["held_s"].get<double>(), 0.0);
  // A session that goes gives back what it had.
  ASSERT_EQ(user.acquire(exported.reply.key()).status, HB_OK);
  user.disconnect();
  EXPECT_TRUE(poll_until([&] { return of_kind("released").size() == 2; }));
}

TEST_F(CliAudit, S10RefusalsAreToldOnceAndCounted) {
  {
    RawPeer raw = peer();
    pb::Export persistent = export_of("p", 1, kPage);
    persistent.set_lifetime(2);
    for (int i = 0; i < 50; ++i) {
      const UniqueFd memory = sealed_memfd(kPage, 1);
      EXPECT_EQ(raw.call<pb::ExportReply>(FrameType::kExport, persistent, {memory.get()}).status, HB_DENIED);
    }
  }
  const json got = only("refused");
  EXPECT_EQ(got["status"], "HB_DENIED");
  EXPECT_EQ(got["verb"], "export");
  EXPECT_EQ(got["count"], 1);
  EXPECT_THAT(got["reason"].get<std::string>(), HasSubstr("the policy of this node does not let uid 0"));
  // Those that were counted are told at the end of the period, here of the daemon.
  daemon().process().signal(SIGTERM);
  ASSERT_TRUE(daemon().process().wait());
  EXPECT_THAT(daemon().log_with("\"count\":49}"), HasSubstr("\"count\":49}"));
}

TEST_F(CliAudit, S10WhatTheEdgeRefuses) {
  RawPeer raw = peer();
  std::array<int, 2> ends{-1, -1};
  ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
  const UniqueFd reader(ends[0]);
  const UniqueFd writer(ends[1]);
  EXPECT_EQ(raw.export_fds("pipe", {reader.get()}).status, HB_BAD_HANDLE);
  EXPECT_EQ(raw.status().status, HB_DENIED) << "an admin's verb on the main socket";
  RawPeer liar(daemon().socket());
  liar.send_bytes("this is no frame");
  EXPECT_TRUE(liar.ends());
  std::map<std::string, json> by_status;
  for (const json& record : of_kind("refused")) by_status[record["status"].get<std::string>()] = record;
  ASSERT_EQ(by_status.count("HB_BAD_HANDLE"), 1u);
  EXPECT_EQ(by_status["HB_BAD_HANDLE"]["verb"], "export");
  ASSERT_EQ(by_status.count("HB_DENIED"), 1u);
  EXPECT_EQ(by_status["HB_DENIED"]["verb"], "status");
  ASSERT_EQ(by_status.count("HB_PROTO"), 1u);
  EXPECT_EQ(by_status["HB_PROTO"]["pid"], ::getpid());
}

TEST_F(CliAudit, S10GuessedKeysAreOneRecord) {
  RawPeer owner = peer();
  std::string guess = share(owner, "kv").reply.key();
  ASSERT_EQ(guess.size(), 64u);
  for (int i = 0; i < 100; ++i) {
    guess.back() = static_cast<char>(guess.back() + 1);
    EXPECT_EQ(owner.acquire(guess).status, HB_NOT_FOUND);
  }
  EXPECT_EQ(only("refused")["status"], "HB_NOT_FOUND");
}

TEST_F(CliAudit, S10AQuotaHitCarriesItsNumbers) {
  RawPeer owner = peer();
  for (const char* name : {"a", "b", "c"}) ASSERT_EQ(share(owner, name).status, HB_OK);
  EXPECT_EQ(share(owner, "d").status, HB_QUOTA);
  EXPECT_EQ(share(owner, "d").status, HB_QUOTA);
  const json got = only("quota");
  EXPECT_EQ(got["what"], "exports");
  EXPECT_EQ(got["used"], 3);
  EXPECT_EQ(got["limit"], 3);
  EXPECT_THAT(got["who"].get<std::string>(), HasSubstr("uid 0"));
  EXPECT_EQ(got["verb"], "export");
  EXPECT_EQ(got["export"]["name"], "d");
}

TEST_F(CliAudit, S10RevokesOfOwnerAndAdmin) {
  RawPeer owner = peer();
  RawPeer user = peer();
  const auto exported = share(owner, "kv");
  ASSERT_EQ(share(owner, "other").status, HB_OK);
  ASSERT_EQ(user.acquire(exported.reply.key()).status, HB_OK);
  EXPECT_EQ(ctl({"revoke", "kv"}).exit_code, 3) << "still held";
  EXPECT_EQ(ctl({"--no-admin", "revoke", "other"}).exit_code, 0);
  const auto all = of_kind("revoked");
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0]["export"]["name"], "kv");
  EXPECT_EQ(all[0]["count"], 1);
  EXPECT_EQ(all[0]["admin"], true);
  EXPECT_EQ(all[1]["export"]["name"], "other");
  EXPECT_EQ(all[1]["count"], 0);
  EXPECT_FALSE(all[1].contains("admin"));
}

TEST_F(CliAudit, S10WhatAnAdminChanges) {
  RawPeer admin = admin_peer();
  pb::ScopeAdd add;
  add.set_name("job7");
  ASSERT_EQ(admin.call<pb::ScopeAddReply>(FrameType::kScopeAdd, add).status, HB_OK);
  {
    RawPeer inside(daemon().run_dir() + "/scopes/job7/broker.sock");
    ASSERT_EQ(inside.hello().status, HB_OK);
    const auto exported = share(inside, "kv");
    ASSERT_EQ(inside.acquire(exported.reply.key()).status, HB_OK);
    EXPECT_EQ(only("acquired")["scope"], "job7");
  }
  ASSERT_EQ(ctl({"quota", "set", "--uid", "1001", "--exports", "7"}).exit_code, 0);
  ASSERT_EQ(ctl({"reload"}).exit_code, 0);
  pb::ScopeRemove remove;
  remove.set_name("job7");
  ASSERT_EQ(admin.call<pb::ScopeRemoveReply>(FrameType::kScopeRemove, remove).status, HB_OK);
  EXPECT_EQ(only("scope-added")["who"], "scope job7");
  EXPECT_EQ(only("scope-added")["admin"], true);
  EXPECT_EQ(only("scope-removed")["who"], "scope job7");
  EXPECT_EQ(only("quota-set")["who"], "uid 1001 in scope main");
  EXPECT_EQ(only("quota-set")["reason"], "exports 7");
  EXPECT_THAT(only("policy-reloaded")["reason"].get<std::string>(), HasSubstr("1 rules"));
  daemon().process().signal(SIGHUP);
  ASSERT_TRUE(poll_until([&] { return of_kind("policy-reloaded").size() == 2; }));
  EXPECT_EQ(of_kind("policy-reloaded")[1]["verb"], "SIGHUP");
  EXPECT_TRUE(of_kind("policy-reloaded")[1]["pid"].is_null());
  write_file(daemon().policy_file(), "[[rule]]\nallow = [\"fly\"]\n");
  EXPECT_NE(ctl({"reload"}).exit_code, 0);
  EXPECT_EQ(of_kind("policy-reloaded")[2]["status"], "HB_INVALID");
}

TEST_F(CliAudit, S10NobodyBuriesTheRecordsOfOthers) {
  {
    RawPeer busy = peer();
    const auto exported = share(busy, "kv");
    for (std::size_t i = 0; i < limits::kAuditRecords / 8; ++i) {
      const auto got = busy.acquire(exported.reply.key());
      ASSERT_EQ(got.status, HB_OK);
      busy.release(got.reply.lease_id());
    }
    EXPECT_LT(records().size(), 4096u);
  }
  daemon().process().signal(SIGTERM);
  ASSERT_TRUE(daemon().process().wait());
  EXPECT_THAT(daemon().log_with("\"event\":\"left-out\",\"scope\":\"main\",\"uid\":0"),
              HasSubstr("\"event\":\"left-out\",\"scope\":\"main\",\"uid\":0"));
}

TEST_F(CliAudit, EveryRecordIsInTheLogToo) {
  RawPeer owner = peer();
  const auto exported = share(owner, "a \"name\" \xe2\x80\xae");
  ASSERT_EQ(exported.status, HB_OK) << exported.error.message();
  ASSERT_EQ(owner.acquire(exported.reply.key()).status, HB_OK);
  const json got = only("acquired");
  EXPECT_EQ(got["export"]["name"], "a \"name\" \xe2\x80\xae") << "as it is";
  ASSERT_TRUE(poll_until([&] { return daemon().log().find("{\"number\":1,") != std::string::npos; }));
  const std::string log = daemon().log();
  const std::size_t at = log.find("{\"number\":1,");
  ASSERT_TRUE(poll_until([&] { return daemon().log().find('\n', at) != std::string::npos; }));
  EXPECT_EQ(json::parse(daemon().log().substr(at, daemon().log().find('\n', at) - at)), got);
}

TEST_F(CliAudit, FiltersPagesAndPeople) {
  RawPeer owner = peer();
  const auto exported = share(owner, "kv");
  constexpr int kTimes = 400;
  for (int i = 0; i < kTimes; ++i) {
    const auto got = owner.acquire(exported.reply.key());
    owner.release(got.reply.lease_id());
  }
  ASSERT_EQ(owner.ping(), HB_OK);
  const auto all = records();
  ASSERT_EQ(all.size(), 2u * kTimes) << "more than one page";
  for (std::size_t i = 0; i < all.size(); ++i) EXPECT_EQ(all[i]["number"], i + 1);
  EXPECT_EQ(of_kind("acquired").size(), std::size_t{kTimes});
  EXPECT_EQ(records({"--uid", "0"}).size(), all.size());
  EXPECT_TRUE(records({"--uid", "1001"}).empty());
  EXPECT_EQ(records({"--since", "1h"}).size(), all.size());
  const Ran people = ctl({"audit", "--kind", "acquired"});
  EXPECT_EQ(people.exit_code, 0);
  EXPECT_THAT(people.out, HasSubstr(" acquired  main: uid 0, pid " + std::to_string(::getpid())));
  EXPECT_THAT(people.out,
              HasSubstr(" export " + std::to_string(exported.reply.export_id()) + " \"kv\" of uid 0\n"));
  EXPECT_EQ(ctl({"audit", "--kind", "everything"}).exit_code, 64);
  EXPECT_EQ(ctl({"audit", "--since", "yesterday"}).exit_code, 64);
  const Ran denied = ctl({"--no-admin", "audit"});
  EXPECT_EQ(denied.exit_code, 1);
  EXPECT_THAT(denied.err, HasSubstr("admin socket"));
}

TEST_F(CliAudit, FollowTellsWhatHappensFromNowOn) {
  std::array<int, 2> ends{-1, -1};
  ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
  const UniqueFd reader(ends[0]);
  UniqueFd writer(ends[1]);
  Process follows({HB_TEST_CTL, "--socket", daemon().socket(), "audit", "--follow", "--json"}, {},
                  {{writer.get(), 1}});
  writer.reset();
  {
    RawPeer owner = peer();
    const auto exported = share(owner, "late");
    ASSERT_EQ(owner.acquire(exported.reply.key()).status, HB_OK);
  }
  std::string got;
  std::array<char, 4096> buffer;
  while (got.find("\"released\"") == std::string::npos && wait_readable(reader.get())) {
    const ssize_t n = ::read(reader.get(), buffer.data(), buffer.size());
    if (n <= 0) break;
    got.append(buffer.data(), static_cast<std::size_t>(n));
  }
  EXPECT_THAT(got, HasSubstr("\"acquired\""));
  EXPECT_THAT(got, HasSubstr("\"released\""));
  EXPECT_THAT(got, HasSubstr("\"late\""));
}

}  // namespace
}  // namespace hb::test
