// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// The policy of a running daemon, changed under live sessions of two uids.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>

#include "hipbroker/hipbroker.h"
#include "support/actor.h"
#include "support/fixture.h"

namespace hb::test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

ProcessOptions as(std::uint32_t uid) {
  ProcessOptions options;
  options.uid = uid;
  return options;
}

DaemonOptions with_policy(const std::string& policy) {
  DaemonOptions options;
  options.policy = policy;
  options.store = true;
  return options;
}

const std::string kEverything = "[[rule]]\nallow = \"all\"\n";
const std::string kOnly1001Exports = R"([[rule]]
allow = ["acquire", "list"]
[[rule]]
allow = ["export", "revoke"]
uid = [1001]
)";

class Policy : public DaemonTest {
 protected:
  explicit Policy(const std::string& policy = kOnly1001Exports) : DaemonTest(with_policy(policy)) {}

  pb::ReloadReply reload_as(const std::string& policy) {
    write_file(daemon().policy_file(), policy);
    RawPeer admin = admin_peer();
    auto answer = admin.call<pb::ReloadReply>(FrameType::kReload, pb::Reload());
    EXPECT_EQ(answer.status, HB_OK) << answer.error.message();
    return answer.reply;
  }
  pb::StatusReply counters() {
    RawPeer admin = admin_peer();
    return admin.status().reply;
  }
  static hb_status exports(Actor& who, const std::string& name, const std::string& acl = "") {
    who.ok("memfds", {{"fds", name}});
    return who.call("export", {{"export", name}, {"fds", name}, {"name", name}, {"acl", acl}}).status;
  }
};

TEST_F(Policy, S10_AVerbThatIsDeniedIsGrantedByAReload) {
  if (!may_change_uid()) return;
  Actor trusted(daemon(), as(1001));
  Actor other(daemon(), as(1002));
  EXPECT_EQ(exports(trusted, "a"), HB_OK);
  other.ok("memfds", {{"fds", "b"}});
  const Answer refused = other.call("export", {{"export", "b"}, {"fds", "b"}, {"name", "b"}});
  EXPECT_EQ(refused.status, HB_DENIED);
  EXPECT_THAT(refused.message(), AllOf(HasSubstr("uid 1002"), HasSubstr("check-policy --as 1002")));

  const pb::ReloadReply reply = reload_as(kEverything);
  EXPECT_EQ(reply.errors_size(), 0);
  EXPECT_EQ(reply.rules(), 1u);
  EXPECT_EQ(reply.sessions(), 3u);  // both, and who asked
  EXPECT_EQ(reply.file(), daemon().policy_file());
  // The same session, at once.
  other.ok("export", {{"export", "b"}, {"fds", "b"}, {"name", "b"}, {"lifetime", HB_LIFETIME_PERSIST}});
  other.ok("withdraw", {{"export", "b"}});  // it would live on
  trusted.leave();
  other.leave();
}

TEST_F(Policy, S10_WhatExistsStaysWhenTheRightGoes) {
  if (!may_change_uid()) return;
  Actor owner(daemon(), as(1001));
  Actor reader(daemon(), as(1002));
  EXPECT_EQ(exports(owner, "held", "u:1002:1"), HB_OK);
  EXPECT_EQ(exports(owner, "new", "u:1002:1"), HB_OK);
  reader.ok("import", {{"import", "held"}, {"name", "held"}, {"owner", 1001}});
  const pb::ReloadReply reply = reload_as("[[rule]]\nallow = [\"list\"]\nuid = [0]\n");
  EXPECT_EQ(reply.rules(), 1u);
  // Nobody is told of an end, and the mapping reads on.
  reader.ok("pattern", {{"import", "held"}, {"first", 0}});
  EXPECT_EQ(counters().exports(), 2u);
  EXPECT_EQ(counters().leases(), 1u);
  EXPECT_EQ(reader.call("import", {{"import", "n"}, {"name", "new"}, {"owner", 1001}}).status, HB_DENIED);
  EXPECT_EQ(reader.call("list").status, HB_DENIED);
  EXPECT_EQ(owner.call("withdraw", {{"export", "new"}}).status, HB_OK) << "to give back needs no right";
  reader.ok("close_import", {{"import", "held"}});
  EXPECT_EQ(counters().leases(), 0u);
  // Who connects from now on is under the same policy.
  Actor late(daemon(), as(1001));
  EXPECT_EQ(exports(late, "late"), HB_DENIED);
  for (Actor* one : {&owner, &reader, &late}) one->leave();
}

TEST_F(Policy, AReloadWithErrorsChangesNothingAndNamesThemAll) {
  if (!may_change_uid()) return;
  Actor trusted(daemon(), as(1001));
  Actor other(daemon(), as(1002));
  const pb::ReloadReply reply =
      reload_as("[[rule]]\nallow = [\"exprt\"]\n[[rule]]\ndeny = \"all\"\nuid = [-1]\n");
  const std::string file = daemon().policy_file();
  EXPECT_THAT(reply.errors(), ElementsAre(StartsWith(file + ":2:10: allow holds \"exprt\""),
                                          StartsWith(file + ":5:8: uid holds -1")));
  EXPECT_EQ(reply.sessions(), 0u);
  EXPECT_EQ(exports(trusted, "a"), HB_OK);
  EXPECT_EQ(exports(other, "b"), HB_DENIED);
  std::filesystem::remove(file);
  {
    RawPeer admin = admin_peer();
    const auto gone = admin.call<pb::ReloadReply>(FrameType::kReload, pb::Reload());
    EXPECT_THAT(gone.reply.errors(), ElementsAre(HasSubstr("open: ENOENT")));
  }
  EXPECT_EQ(exports(trusted, "c"), HB_OK);
  EXPECT_THAT(daemon().log_with("the policy was not reloaded, the one before goes on"),
              HasSubstr("the policy was not reloaded, the one before goes on"));
  trusted.leave();
  other.leave();
}

TEST_F(Policy, ErrorsThatFitNoAnswerAreCounted) {
  std::string text;
  for (int i = 0; i < 1500; ++i) text += "[[rule]]\nallow = [\"" + std::string(40, 'x') + "\"]\n";
  const pb::ReloadReply reply = reload_as(text);
  EXPECT_GT(reply.errors_size(), 100);
  EXPECT_THAT(reply.errors().Get(reply.errors_size() - 1),
              AllOf(StartsWith("and " + std::to_string(1500 - reply.errors_size() + 1) + " more"),
                    HasSubstr("hipbrokerd --check")));
}

TEST_F(Policy, SighupReloadsAsOftenAsItComes) {
  if (!may_change_uid()) return;
  Actor other(daemon(), as(1002));
  EXPECT_EQ(exports(other, "a"), HB_DENIED);
  for (const hb_status expected : {HB_OK, HB_DENIED, HB_OK}) {
    write_file(daemon().policy_file(), expected == HB_OK ? kEverything : kOnly1001Exports);
    daemon().process().signal(SIGHUP);
    EXPECT_TRUE(poll_until([&] {
      const hb_status now = other.call("export", {{"export", "a"}, {"fds", "a"}, {"name", "a"}}).status;
      if (now == HB_OK) other.ok("withdraw", {{"export", "a"}});
      return now == expected;
    }));
  }
  other.leave();
}

TEST_F(Policy, ReloadAndCheckAreForTheAdminAlone) {
  RawPeer anybody = peer();
  EXPECT_EQ(anybody.call<pb::ReloadReply>(FrameType::kReload, pb::Reload()).status, HB_DENIED);
  EXPECT_EQ(anybody.call<pb::CheckPolicyReply>(FrameType::kCheckPolicy, pb::CheckPolicy()).status, HB_DENIED);
}

class PolicyQuota : public Policy {
 protected:
  static std::string with_exports(const std::string& most) {
    return kEverything + "[quota]\nexports = 100\n[[quota.override]]\nuid = [1001]\nexports = " + most + "\n";
  }
  PolicyQuota() : Policy(with_exports("2")) {}
};

TEST_F(PolicyQuota, S10_ALimitLoweredBelowUseKeepsWhatExistsAndRefusesWhatIsNew) {
  if (!may_change_uid()) return;
  Actor limited(daemon(), as(1001));
  Actor other(daemon(), as(1002));
  EXPECT_EQ(exports(limited, "a", "u:1002:1"), HB_OK);
  EXPECT_EQ(exports(limited, "b"), HB_OK);
  limited.ok("memfds", {{"fds", "c"}});
  const Message third{{"export", "c"}, {"fds", "c"}, {"name", "c"}};
  const Answer refused = limited.call("export", third);
  EXPECT_EQ(refused.status, HB_QUOTA);
  EXPECT_THAT(refused.message(), AllOf(HasSubstr("exports"), HasSubstr("2"), HasSubstr("uid 1001")));
  EXPECT_EQ(exports(other, "o"), HB_OK) << "only the offender is hit";

  EXPECT_EQ(reload_as(with_exports("1")).overrides(), 1u);
  EXPECT_EQ(counters().exports(), 3u);
  other.ok("import", {{"import", "a"}, {"name", "a"}, {"owner", 1001}});
  EXPECT_EQ(limited.call("export", third).status, HB_QUOTA);
  limited.ok("withdraw", {{"export", "b"}});
  EXPECT_EQ(limited.call("export", third).status, HB_QUOTA) << "one is there, one is allowed";
  EXPECT_EQ(reload_as(with_exports("2")).errors_size(), 0);
  limited.ok("export", third);
  // A second session of the uid counts for the same.
  Actor second(daemon(), as(1001));
  EXPECT_EQ(exports(second, "d"), HB_QUOTA);
  for (Actor* one : {&limited, &other, &second}) one->leave();
}

class NobodyMayAnything : public Policy {
 protected:
  NobodyMayAnything() : Policy("[[rule]]\ndeny = \"all\"\n") {}
};

// Who mends a node is not kept out by what is wrong with it.
TEST_F(NobodyMayAnything, TheAdminSocketIsUnderNoRule) {
  Actor anybody(daemon());
  EXPECT_EQ(anybody.call("list").status, HB_DENIED);
  RawPeer admin = admin_peer();
  EXPECT_EQ(admin.list().status, HB_OK);
  EXPECT_EQ(admin.status().status, HB_OK);
  EXPECT_THAT(daemon().log_with("warning: no rule allows anything"),
              HasSubstr("warning: no rule allows anything"));
  anybody.leave();
}

TEST(PolicyAtStart, ErrorsOfBothFilesAreSeenAtOnce) {
  const TempDir dir;
  write_file(dir / "c.toml", "colour = 1\n");
  write_file(dir / "p.toml", "[[rule]]\nallows = 1\n");
  const DaemonRefusal refused = run_daemon_to_exit({"--config", dir / "c.toml", "--policy", dir / "p.toml"});
  EXPECT_EQ(refused.exit_code, 64);
  EXPECT_THAT(refused.output, AllOf(HasSubstr("c.toml:1:1: unknown key \"colour\""),
                                    HasSubstr("p.toml:2:1: unknown key \"allows\"")));
}

TEST(PolicyAtStart, AFileThatSomebodyNamedMustBeThere) {
  const TempDir dir;
  write_file(dir / "c.toml", "policy = \"" + dir.path() + "/none.toml\"\n");
  for (const std::vector<std::string>& args :
       {std::vector<std::string>{"--config", dir / "c.toml"},
        std::vector<std::string>{"--policy", dir / "none.toml", "--check"}}) {
    const DaemonRefusal refused = run_daemon_to_exit(args);
    EXPECT_EQ(refused.exit_code, 64);
    EXPECT_THAT(refused.output, HasSubstr("none.toml: open: ENOENT"));
  }
}

TEST(PolicyAtStart, CheckSaysWhatIsThereAndWarns) {
  const TempDir dir;
  write_file(dir / "c.toml", "");
  write_file(dir / "p.toml", kEverything + kEverything + "[[quota.override]]\nuid = [1]\nexports = 1\n");
  const DaemonRefusal checked =
      run_daemon_to_exit({"--check", "--config", dir / "c.toml", "--policy", dir / "p.toml"});
  EXPECT_EQ(checked.exit_code, 0);
  EXPECT_THAT(checked.output,
              AllOf(HasSubstr("c.toml: ok\n"), HasSubstr("p.toml: ok, 2 rules, 1 quota override\n"),
                    HasSubstr("p.toml:3:1: warning: this rule never decides")));
}

}  // namespace
}  // namespace hb::test
