// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// S10, the node admin limits tenants and audits, through hipbrokerctl as an admin uses it. Elsewhere:
// - B05 (the daemon out of descriptors): tests/hostile; B06: QuotaSet in quota_set_test.cc; B12: Access in
//   access_test.cc and unit/core/access_test.cc.
// - each resource at its limit, and a reload that lowers one below its use: Quotas, QuotaSet; rights and
//   reload: policy_test.cc.
// - doctor on six nodes: S10_DoctorOfANode in tests/cli.
// - how long `ls` and `metrics` of 10,000 exports take: product.ls, product.metrics of ./dev bench.
#include <filesystem>
#include <nlohmann/json.hpp>

#include "cli/ctl_fixture.h"
#include "integration/quota_fixture.h"

namespace hb::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

class S10 : public WithCtl<QuotaTest> {
 protected:
  S10() : WithCtl(with_quotas("")) {}

  // Many exports of one object: each is its own record, no descriptor.
  static void share_many(RawPeer& peer, int object, int count) {
    for (int i = 0; i < count; ++i)
      ASSERT_EQ(peer.export_fds("kv/" + std::to_string(i), {object}).status, HB_OK) << i;
  }
};

TEST_F(S10, TheAdminLimitsATenantByHand) {
  RawPeer tenant = peer_as(2001);
  RawPeer other = peer_as(2002);
  const Ran set =
      ctl({"quota", "set", "--uid", "2001", "--bytes", "300G", "--chunks", "200k", "--exports", "3"});
  EXPECT_EQ(set.exit_code, 0) << set.err;
  EXPECT_THAT(set.out, HasSubstr("set for uid 2001: exports 3, chunks 200000, bytes 300G\n"));
  EXPECT_THAT(set.out, HasSubstr("1 live session has it"));
  EXPECT_THAT(set.out, HasSubstr("until the node reboots"));
  EXPECT_THAT(set.out, HasSubstr("[[quota.override]]\nuid = [2001]\nscope = [\"main\"]\nexports = 3\n"));

  const UniqueFd object = sealed_memfd(kPage, 1);
  share_many(tenant, object.get(), 3);
  expect_quota(tenant.export_fds("fourth", {object.get()}), "exports", 3, 3, 2001);
  share_many(other, object.get(), 4);

  const Ran listed = ctl({"quota", "ls", "--uid", "2001"});
  EXPECT_EQ(listed.exit_code, 0) << listed.err;
  for (const char* row : {"SCOPE", "exports", "100%", "300G", "200000"})
    EXPECT_THAT(listed.out, HasSubstr(row));
  EXPECT_THAT(listed.out, Not(HasSubstr("2002")));
  // Of the scope as a whole, too; the admin's own uid may still be there from a call before.
  std::map<std::string, json> exports;
  const json said = ctl_json({"quota", "ls", "--scope", "main"});
  for (const json& account : said["accounts"])
    exports[account["uid"].dump()] = account["resources"]["exports"]["used"];
  EXPECT_EQ(exports["2001"], 3);
  EXPECT_EQ(exports["2002"], 4);
  EXPECT_EQ(exports["null"], 7);

  const json cleared = ctl_json({"quota", "set", "--uid", "2001", "--clear"});
  EXPECT_EQ(cleared["cleared"], true);
  EXPECT_EQ(cleared["sessions"], 1);
  EXPECT_EQ(tenant.export_fds("fourth", {object.get()}).status, HB_OK);
}

// What it prints is what the policy file takes.
TEST_F(S10, TheLinesThatItPrintsMakeItLast) {
  const Ran set =
      ctl({"quota", "set", "--uid", "2001", "--exports", "2", "--leases", "unlimited", "--bytes", "64K"});
  ASSERT_EQ(set.exit_code, 0) << set.err;
  const std::string lines = set.out.substr(set.out.find("[[quota.override]]"));
  ASSERT_EQ(ctl({"quota", "set", "--uid", "2001", "--clear"}).exit_code, 0);
  write_file(daemon().policy_file(), kEverythingAllowed + lines);
  const Ran reloaded = ctl({"reload"});
  ASSERT_EQ(reloaded.exit_code, 0) << reloaded.err << lines;
  RawPeer tenant = peer_as(2001);
  const json resources = ctl_json({"quota", "ls", "--uid", "2001"})["accounts"][0]["resources"];
  EXPECT_EQ(resources["exports"]["limit"], 2);
  EXPECT_EQ(resources["bytes"]["limit"], 65'536);
  EXPECT_GE(resources["leases"]["limit"], INT64_MAX);
}

TEST_F(S10, AReloadBelowWhatIsUsedKeepsWhatExists) {
  RawPeer tenant = peer_as(2001);
  const UniqueFd object = sealed_memfd(kPage, 1);
  share_many(tenant, object.get(), 5);
  write_file(daemon().policy_file(), kEverythingAllowed + "[quota]\nexports = 2\n");
  ASSERT_EQ(ctl({"reload"}).exit_code, 0);
  EXPECT_EQ(ctl_json({"ls"})["exports"].size(), 5u);
  expect_quota(tenant.export_fds("new", {object.get()}), "exports", 5, 2, 2001);
  EXPECT_THAT(ctl({"quota", "ls", "--uid", "2001"}).out, HasSubstr("250%"));
}

TEST_F(S10, EveryRefusalLeavesTheDaemonAsItWas) {
  ASSERT_EQ(set_quota(2001, {{"sessions", 2},
                             {"exports", 1},
                             {"chunks", 2},
                             {"bytes", 2 * kPage},
                             {"descriptors", 2},
                             {"leases", 0},
                             {"stagings", 0},
                             {"waits", 0},
                             {"tickets", 0},
                             {"groups", 0}})
                .status,
            HB_OK);
  std::vector<UniqueFd> memory;
  for (std::uint64_t i = 0; i < 3; ++i) memory.push_back(sealed_memfd(kPage, i));
  {
    RawPeer tenant = peer_as(2001);
    RawPeer second = peer_as(2001);
    EXPECT_EQ(connect_as(2001).hello().status, HB_QUOTA);
    EXPECT_EQ(tenant.export_fds("three", borrow(memory)).status, HB_QUOTA);
    EXPECT_EQ(tenant.export_fds("large", {sealed_memfd(3 * kPage, 9).get()}, 3 * kPage).status, HB_QUOTA);
    pb::Export half = export_of("half", 1, kPage);
    half.set_total_chunks(2);
    half.set_total_size(2 * kPage);
    half.set_distinct_handles(2);
    EXPECT_EQ(tenant.call<pb::ExportReply>(FrameType::kExport, half, {memory[0].get()}).status, HB_QUOTA);
    expect_baseline("refused exports", 2);
    const auto one = tenant.export_fds("one", {memory[0].get()});
    ASSERT_EQ(one.status, HB_OK) << one.error.message();
    EXPECT_EQ(second.export_fds("two", {memory[1].get()}).status, HB_QUOTA);
    EXPECT_EQ(second.acquire(one.reply.key()).status, HB_QUOTA);
    pb::Acquire wait;
    wait.mutable_target()->mutable_name()->set_name("later");
    wait.set_access(1);
    wait.set_wait_ns(UINT64_MAX);
    EXPECT_EQ(second.call<pb::AcquireReply>(FrameType::kAcquire, wait).status, HB_QUOTA);
    pb::MakeTicket ticket;
    ticket.set_export_id(one.reply.export_id());
    ticket.set_access(1);
    ticket.set_ttl_ns(1'000'000'000);
    EXPECT_EQ(tenant.call<pb::MakeTicketReply>(FrameType::kMakeTicket, ticket).status, HB_QUOTA);
    pb::Join join;
    join.set_name("ranks");
    join.set_world(1);
    join.set_attempt(1);
    join.set_export_id(one.reply.export_id());
    join.set_access(1);
    EXPECT_EQ(tenant.call<pb::JoinReply>(FrameType::kJoin, join).status, HB_QUOTA);
    EXPECT_EQ(tenant.ping(), HB_OK);
    EXPECT_EQ(second.ping(), HB_OK);
    const auto account = account_of(2001);
    for (const auto& [resource, use] : account)
      EXPECT_EQ(use.used, resource == "sessions"                                                       ? 2u
                          : resource == "exports" || resource == "chunks" || resource == "descriptors" ? 1u
                          : resource == "bytes"                                                        ? kPage
                                                                                                       : 0u)
          << resource;
  }
  expect_baseline("the end of the tenant");
  for (const auto& [resource, use] : account_of(2001)) EXPECT_EQ(use.used, 0u) << resource;
}

TEST_F(S10, TenThousandExportsAreListedAndMeasured) {
  RawPeer tenant = peer_as(2001);
  const UniqueFd object = sealed_memfd(kPage, 1);
  share_many(tenant, object.get(), 10'000);
  const Ran listed = ctl({"ls", "--names"});
  EXPECT_EQ(listed.exit_code, 0) << listed.err;
  EXPECT_EQ(std::count(listed.out.begin(), listed.out.end(), '\n'), 10'000);
  const Ran metrics = ctl({"metrics"});
  EXPECT_EQ(metrics.exit_code, 0) << metrics.err;
  for (const char* line :
       {"\nhipbroker_up 1\n", "\nhipbroker_exports 10000\n",
        "\nhipbroker_account_used{scope=\"main\",uid=\"2001\",resource=\"exports\"} 10000\n",
        "\nhipbroker_account_used_bytes{scope=\"main\",uid=\"2001\"} 4096\n"})
    EXPECT_THAT(metrics.out, HasSubstr(line));
  EXPECT_THAT(metrics.out, Not(HasSubstr("kv/")));  // no name of anybody's
}

TEST_F(S10, TheMetricsFileIsWholeAndTellsOfADeadDaemon) {
  const TempDir folder;
  const std::string path = folder / "hipbroker.prom";
  const Ran written = ctl({"metrics", "--file", path});
  EXPECT_EQ(written.exit_code, 0) << written.err;
  EXPECT_EQ(written.out, "");
  EXPECT_THAT(read_file(path), HasSubstr("\nhipbroker_up 1\n"));
  EXPECT_THAT(read_file(path), HasSubstr("\nhipbroker_scope_limit_bytes{scope=\"main\"} +Inf\n"));

  const Ran dead = run_ctl({"--socket", folder / "no.sock", "metrics", "--file", path});
  EXPECT_EQ(dead.exit_code, 69) << dead.err;
  EXPECT_THAT(read_file(path), HasSubstr("\nhipbroker_up 0\n"));
  EXPECT_THAT(read_file(path), Not(HasSubstr("hipbroker_exports")));
  const auto files = std::distance(std::filesystem::directory_iterator(folder.path()), {});
  EXPECT_EQ(files, 1);  // nothing half written beside it

  const Ran nowhere = ctl({"metrics", "--file", folder / "none/hipbroker.prom"});
  EXPECT_EQ(nowhere.exit_code, 71);
  EXPECT_THAT(nowhere.err, HasSubstr("ENOENT"));
}

TEST_F(S10, ATenantSeesItsOwnAccountAndSetsNothing) {
  if (!may_change_uid()) return;
  ProcessOptions tenant;
  tenant.uid = 2001;
  const RawPeer other = peer_as(2002);
  const Ran own = ctl({"quota", "ls"}, tenant);
  EXPECT_EQ(own.exit_code, 0) << own.err;
  EXPECT_THAT(own.out, HasSubstr("main   2001  sessions"));
  EXPECT_THAT(own.out, Not(HasSubstr("2002")));
  const Ran set = ctl({"quota", "set", "--uid", "2001", "--exports", "1M"}, tenant);
  EXPECT_NE(set.exit_code, 0);
  EXPECT_THAT(set.err, HasSubstr("--admin needs root or the daemon's own uid"));
  EXPECT_THAT(ctl({"metrics"}, tenant).err, HasSubstr("--admin needs root or the daemon's own uid"));
}

TEST_F(S10, WhatCannotBeMeantIsAUsageError) {
  const auto usage = [&](std::vector<std::string> arguments, const char* says) {
    const Ran ran = ctl(std::move(arguments));
    EXPECT_EQ(ran.exit_code, 64) << ran.out << ran.err;
    EXPECT_THAT(ran.err, HasSubstr(says));
  };
  usage({"quota"}, "subcommand");
  usage({"quota", "set", "--exports", "1"}, "say whose");
  usage({"quota", "set", "--uid", "2001"}, "say which limit");
  usage({"quota", "set", "--uid", "2001", "--gid", "7", "--exports", "1"}, "exclude each other");
  usage({"quota", "set", "--uid", "2001", "--exports", "1K"}, "\"1K\" is no limit");
  usage({"quota", "set", "--uid", "2001", "--bytes", "300GB"}, "like 300G");
  usage({"quota", "set", "--uid", "4294967295", "--exports", "1"}, "--uid");
  usage({"quota", "set", "--scope", "main", "--exports", "1"}, "say whose");
}

}  // namespace
}  // namespace hb::test
