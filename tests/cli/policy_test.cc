// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// check-policy and reload against a real daemon with a policy of its own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cli/ctl_fixture.h"
#include "support/actor.h"
#include "support/fixture.h"

namespace hb::test {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

DaemonOptions with_policy() {
  DaemonOptions options;
  options.policy = R"([[rule]]
deny = ["acquire"]
uid = [1003]
gid = [77]
[[rule]]
allow = ["acquire", "list"]
[[rule]]
allow = ["export"]
uid = ["1000-1001"]
scope = ["main"]
)";
  return options;
}

class CliPolicy : public WithCtl<> {
 protected:
  CliPolicy() : WithCtl(with_policy()) {}
  std::string at(int line) { return daemon().policy_file() + ":" + std::to_string(line) + ": "; }
};

ProcessOptions as(std::uint32_t uid) {
  ProcessOptions options;
  options.uid = uid;
  return options;
}

TEST_F(CliPolicy, EachVerbWithTheRuleThatDecides) {
  const Ran ran = ctl({"check-policy", "--as", "1001", "--gid", "1001", "--gid", "44"});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_EQ(ran.out,
            "uid 1001, gids 1001, 44 (given), scope main\n"
            "VERB     ALLOWED  RULE\n"
            "export   yes      " +
                at(7) +
                "allow export for uid 1000-1001 in scope main\n"
                "acquire  yes      " +
                at(5) +
                "allow acquire, list for everybody\n"
                "list     yes      " +
                at(5) +
                "allow acquire, list for everybody\n"
                "persist  no       no rule of " +
                daemon().policy_file() +
                " fits\n"
                "revoke   no       no rule of " +
                daemon().policy_file() +
                " fits\n"
                "uid 1001 may acquire\n");
}

TEST_F(CliPolicy, TheExitStatusIsTheVerdict) {
  const auto verdict = [this](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "check-policy");
    return ctl(std::move(arguments)).exit_code;
  };
  EXPECT_EQ(verdict({"--as", "1003", "--gid", "1"}), 0);
  EXPECT_EQ(verdict({"--as", "1003", "--gid", "1", "--gid", "77"}), 4);
  EXPECT_EQ(verdict({"--as", "1001", "--verb", "export"}), 0);
  EXPECT_EQ(verdict({"--as", "1001", "--verb", "export", "--scope", "job-1"}), 4);
  EXPECT_EQ(verdict({"--as", "1002", "--verb", "export"}), 4);
  EXPECT_EQ(verdict({"--as", "1001", "--verb", "persist"}), 4);
  EXPECT_EQ(verdict({"--as", "1001", "--verb", "frob"}), 64);
  EXPECT_EQ(verdict({"--as", "4294967295"}), 64);
  EXPECT_EQ(verdict({"--as", "-1"}), 64);
  EXPECT_EQ(verdict({"weights"}), 64);
}

TEST_F(CliPolicy, OfAnExportWhatItsAccessListGives) {
  if (!may_change_uid()) return;
  Actor owner(daemon(), as(1001));
  owner.ok("memfds");
  owner.ok("export", {{"fds", "f"}, {"name", "weights"}, {"acl", "u:1002:1 g:44:3"}});
  const Ran reader = ctl({"check-policy", "--as", "1002", "--gid", "1002", "1001:weights"});
  EXPECT_EQ(reader.exit_code, 0);
  EXPECT_THAT(reader.out,
              AllOf(HasSubstr("live; the access list of its owner, uid 1001, gives read to uid 1002\n"),
                    HasSubstr("uid 1002 may acquire weights, to read\n")));
  const Ran group = ctl({"check-policy", "--as", "5", "--gid", "44", "weights", "--owner", "1001"});
  EXPECT_THAT(group.out, AllOf(HasSubstr("gives read and write to gid 44\n"),
                               HasSubstr("uid 5 may acquire weights, to read and write\n")));
  const Ran own = ctl({"check-policy", "--as", "1001", "--gid", "1", "weights"});
  EXPECT_THAT(own.out, HasSubstr("uid 1001 owns it, and has all that it gives: read and write\n"));
  const Ran stranger = ctl({"check-policy", "--as", "7", "--gid", "7", "1001:weights"});
  EXPECT_EQ(stranger.exit_code, 4);
  EXPECT_THAT(
      stranger.out,
      AllOf(HasSubstr("its owner, uid 1001, gave uid 7 nothing; the access list gives read to uid 1002, "
                      "read and write to gid 44\n"),
            HasSubstr("uid 7 may not acquire weights: its owner did not\n")));
  const Ran missing = ctl({"check-policy", "--as", "1002", "--gid", "1002", "weights"});
  EXPECT_EQ(missing.exit_code, 4);
  EXPECT_THAT(missing.out, HasSubstr("uid 1002 has no export of that name in scope main"));
  // The policy says no before any list is asked.
  const Ran denied = ctl({"check-policy", "--as", "1003", "--gid", "77", "1001:weights"});
  EXPECT_THAT(denied.out, HasSubstr("uid 1003 may not acquire weights: the policy does not allow it\n"));
  owner.leave();
}

TEST_F(CliPolicy, AsJson) {
  const Ran ran =
      ctl({"check-policy", "--json", "--as", "1002", "--gid", "7", "1001:none", "--scope", "main"});
  EXPECT_EQ(ran.exit_code, 4);
  const json answer = json::parse(ran.out);
  EXPECT_EQ(answer["uid"], 1002);
  EXPECT_EQ(answer["gids"], json::array({7}));
  EXPECT_EQ(answer["gids_from"], "given");
  EXPECT_EQ(answer["scope"], "main");
  EXPECT_EQ(answer["verdicts"].size(), 5u);
  EXPECT_EQ(answer["verdicts"][1]["verb"], "acquire");
  EXPECT_EQ(answer["verdicts"][1]["allowed"], true);
  EXPECT_EQ(answer["verdicts"][1]["reason"], at(5) + "allow acquire, list for everybody");
  EXPECT_EQ(answer["verb"], "acquire");
  EXPECT_EQ(answer["allowed"], false);
  EXPECT_EQ(answer["owner_uid"], 1001);
  EXPECT_EQ(answer["found"], false);
  EXPECT_EQ(answer["access"], "none");
  EXPECT_TRUE(answer["export_id"].is_null());
}

// Rules by gid would be passed over in silence.
TEST_F(CliPolicy, WithoutGidsTheUserDatabaseIsAsked) {
  EXPECT_THAT(ctl({"check-policy", "--as", "0"}).out, StartsWith("uid 0, gids 0"));
  EXPECT_THAT(ctl({"check-policy", "--as", "0"}).out, HasSubstr("(of the user database)"));
  EXPECT_THAT(ctl({"check-policy", "--as", "4294967294"}).out,
              StartsWith("uid 4294967294, gids none (the user database has no such user; --gid says them)"));
}

TEST_F(CliPolicy, ReloadSaysWhatHoldsNow) {
  write_file(daemon().policy_file(),
             "[[rule]]\nallow = \"all\"\n[[rule]]\ndeny = \"all\"\nuid = [5]\n"
             "[[quota.override]]\nuid = [1]\nexports = 1\n");
  const Ran ran = ctl({"reload"});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_EQ(ran.out,
            daemon().policy_file() +
                ":3:1: warning: this rule never decides: whoever it is about fits an earlier one (line "
                "1) first; put it before that, or remove it\n"
                "reloaded " +
                daemon().policy_file() +
                ": 2 rules, 1 quota override; 1 session has its rights and limits by it from now on\n");
  EXPECT_EQ(ctl({"check-policy", "--as", "1002", "--verb", "persist"}).exit_code, 0);
  const json answer = json::parse(ctl({"reload", "--json"}).out);
  EXPECT_EQ(answer["applied"], true);
  EXPECT_EQ(answer["rules"], 2);
  EXPECT_EQ(answer["overrides"], 1);
  EXPECT_EQ(answer["file"], daemon().policy_file());
  EXPECT_EQ(answer["warnings"].size(), 1u);
}

TEST_F(CliPolicy, AReloadThatFailsPrintsEveryError) {
  write_file(daemon().policy_file(), "[[rule]]\nallow = [\"lst\"]\nuid = [-1]\n");
  const Ran ran = ctl({"reload"});
  EXPECT_EQ(ran.exit_code, 1);
  EXPECT_EQ(ran.out, "");
  EXPECT_THAT(ran.err, AllOf(HasSubstr(daemon().policy_file() + ":2:10: allow holds \"lst\""),
                             HasSubstr("did you mean \"list\"?\n"),
                             HasSubstr(daemon().policy_file() + ":3:8: uid holds -1"),
                             HasSubstr("hipbrokerctl: reload: 2 errors in " + daemon().policy_file() +
                                       "; nothing has changed\n")));
  const Ran as_json = ctl({"reload", "--json"});
  EXPECT_EQ(as_json.exit_code, 1);
  EXPECT_EQ(json::parse(as_json.out)["applied"], false);
  EXPECT_EQ(json::parse(as_json.out)["errors"].size(), 2u);
  EXPECT_EQ(ctl({"check-policy", "--as", "1001", "--verb", "export"}).exit_code, 0) << "the old one goes on";
}

TEST_F(CliPolicy, BothAreForTheAdmin) {
  if (!may_change_uid()) return;
  for (const std::vector<std::string>& verb :
       {std::vector<std::string>{"reload"}, std::vector<std::string>{"check-policy", "--as", "1003"}}) {
    const Ran ran = ctl(verb, as(1003));
    EXPECT_NE(ran.exit_code, 0);
    EXPECT_THAT(ran.err, HasSubstr("--admin needs root or the daemon's own uid"));
    std::vector<std::string> own = verb;
    own.insert(own.begin(), "--no-admin");
    const Ran refused = ctl(own);
    EXPECT_EQ(refused.exit_code, 1);
    EXPECT_THAT(refused.err, HasSubstr("is answered on the admin socket only"));
  }
}

}  // namespace
}  // namespace hb::test
