// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// scope add, rm and ls, what they change in ls, show and who; and the scripts for Slurm as they stand in
// docs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
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

class CliScope : public WithCtl<> {
 protected:
  std::string directory(const std::string& scope) { return daemon().run_dir() + "/scopes/" + scope; }
};

TEST_F(CliScope, S6_MadeListedAndRemoved) {
  const Ran added = ctl({"scope", "add", "job7", "--uid", "1001", "--uid", "0", "--quota-bytes", "200G",
                         "--quota-exports", "2k", "--each-leases", "unlimited"});
  EXPECT_EQ(added.exit_code, 0) << added.err;
  EXPECT_THAT(added.out, AllOf(HasSubstr("scope job7 is served in " + directory("job7")),
                               HasSubstr("uid 1001, 0 may connect"), HasSubstr("mount the directory")));
  EXPECT_EQ(ctl_json({"scope", "add", "open"})["directory"], directory("open"));

  const Ran table = ctl({"scope", "ls"});
  EXPECT_THAT(table.out, AllOf(HasSubstr("SCOPE"), HasSubstr("main"), HasSubstr("1001,0"),
                               HasSubstr("of 200G"), HasSubstr("any"), HasSubstr(directory("open"))));
  const json scopes = ctl_json({"scope", "ls"})["scopes"];
  ASSERT_EQ(scopes.size(), 3u);
  EXPECT_EQ(scopes[0]["scope"], "main");
  EXPECT_EQ(scopes[1]["scope"], "job7");
  EXPECT_EQ(scopes[1]["uids"], json::array({1001, 0}));
  EXPECT_EQ(scopes[1]["resources"]["bytes"]["limit"], 200ull << 30);
  EXPECT_EQ(scopes[1]["resources"]["exports"]["limit"], 2000u);
  EXPECT_EQ(scopes[2]["directory"], directory("open"));

  Actor owner;
  owner.ok("open", {{"socket", directory("job7") + "/broker.sock"}});
  owner.ok("memfds", {{"count", 1}});
  owner.ok("export", {{"fds", "f"}, {"name", "kv"}});
  owner.ok("import", {{"name", "kv"}});
  Actor outside(daemon());
  outside.ok("memfds", {{"count", 1}});
  outside.ok("export", {{"fds", "f"}, {"name", "elsewhere"}});
  EXPECT_THAT(ctl({"ls"}).out, AllOf(HasSubstr("SCOPE"), HasSubstr("job7"), HasSubstr("elsewhere")));
  EXPECT_THAT(ctl({"ls", "--scope", "job7"}).out, AllOf(HasSubstr("kv"), Not(HasSubstr("elsewhere"))));
  EXPECT_THAT(ctl({"ls", "--scope", "main"}).out, AllOf(Not(HasSubstr("SCOPE")), HasSubstr("elsewhere")));
  EXPECT_THAT(ctl({"who", "--scope", "job7"}).out, AllOf(HasSubstr("SCOPE"), HasSubstr("kv")));
  EXPECT_EQ(ctl_json({"who", "--scope", "main"})["holders"].size(), 0u);
  const std::string id =
      std::to_string(ctl_json({"ls", "--scope", "job7"})["exports"][0]["export_id"].get<std::uint64_t>());
  EXPECT_THAT(ctl({"show", "--id", id}).out, HasSubstr("scope      job7"));
  EXPECT_THAT(ctl({"why", "--id", id}).out, HasSubstr("scope job7"));

  const Ran removed = ctl({"scope", "rm", "job7"});
  EXPECT_EQ(removed.exit_code, 0) << removed.err;
  EXPECT_THAT(removed.out, HasSubstr("scope job7 is removed: 1 session disconnected, 1 export ended"));
  EXPECT_EQ(ctl_json({"scope", "rm", "open"})["exports"], 0u);
  EXPECT_FALSE(std::filesystem::exists(directory("job7")));
  EXPECT_THAT(ctl({"ls"}).out, Not(HasSubstr("SCOPE")));
  owner.kill9();
}

TEST_F(CliScope, RefusalsSayWhatToDo) {
  ASSERT_EQ(ctl({"scope", "add", "a"}).exit_code, 0);
  const Ran twice = ctl({"scope", "add", "a"});
  EXPECT_EQ(twice.exit_code, 1);
  EXPECT_THAT(twice.err, AllOf(HasSubstr("scope a exists"), HasSubstr("HB_EXISTS")));
  const Ran nowhere = ctl({"scope", "rm", "nowhere"});
  EXPECT_EQ(nowhere.exit_code, 1);
  EXPECT_THAT(nowhere.err, AllOf(HasSubstr("no scope \"nowhere\""), HasSubstr("scope ls")));
  EXPECT_EQ(ctl({"scope", "rm", "main"}).exit_code, 64);
  EXPECT_EQ(ctl({"scope", "add", "b/c"}).exit_code, 64);
  EXPECT_EQ(ctl({"scope", "add", "b", "--uid", "-1"}).exit_code, 64);
  EXPECT_EQ(ctl({"scope", "add", "b", "--quota-bytes", "much"}).exit_code, 64);
  EXPECT_EQ(ctl({"scope", "add"}).exit_code, 64);
  EXPECT_EQ(ctl({"scope"}).exit_code, 64);
  const Ran own = ctl({"--no-admin", "scope", "ls"});
  EXPECT_EQ(own.exit_code, 1);
  EXPECT_THAT(own.err, HasSubstr("on the admin socket only"));
  EXPECT_EQ(ctl({"scope", "rm", "a"}).exit_code, 0);
}

TEST_F(CliScope, S6_TheScriptsForSlurmDoWhatTheySay) {
  if (!may_change_uid()) return;
  const std::string scripts = HB_TEST_SLURM_SCRIPTS;
  const std::string bin = std::filesystem::path(HB_TEST_CTL).parent_path();
  ProcessOptions node;
  node.env = {{"PATH", bin + ":/usr/bin:/bin"},
              {"HIPBROKER_SOCKET", daemon().socket()},
              {"HIPBROKER_RUN", daemon().run_dir()},
              {"SLURM_JOB_ID", "4711"},
              {"SLURM_JOB_UID", "1001"}};
  const auto run = [&](const std::string& script, const ProcessOptions& as) {
    return run_program({"/bin/sh", scripts + "/" + script}, as);
  };
  const Ran prolog = run("prolog.sh", node);
  ASSERT_EQ(prolog.exit_code, 0) << prolog.err;
  EXPECT_EQ(run("prolog.sh", node).exit_code, 0) << "a job that was requeued";
  const json scopes = ctl_json({"scope", "ls"})["scopes"];
  ASSERT_EQ(scopes.size(), 2u);
  EXPECT_EQ(scopes[1]["scope"], "job-4711");
  EXPECT_EQ(scopes[1]["uids"], json::array({1001}));
  EXPECT_EQ(scopes[1]["resources"]["bytes"]["limit"], 200ull << 30);

  const Ran said = run("task_prolog.sh", node);
  const std::string prefix = "export HIPBROKER_SOCKET=";
  ASSERT_EQ(said.out.rfind(prefix, 0), 0u) << said.out;
  const std::string socket = said.out.substr(prefix.size(), said.out.find('\n') - prefix.size());
  ProcessOptions user;
  user.uid = 1001;
  Actor job(user);
  job.ok("open", {{"socket", socket}});
  EXPECT_EQ(job.ok("info").text("scope"), "job-4711");
  job.ok("memfds", {{"count", 1}});
  job.ok("export", {{"fds", "f"}, {"name", "left"}, {"lifetime", 1}, {"linger_ms", 3'600'000}});
  job.leave();

  const Ran epilog = run("epilog.sh", node);
  EXPECT_EQ(epilog.exit_code, 0) << epilog.err;
  EXPECT_THAT(epilog.out, HasSubstr("1 export ended"));
  EXPECT_EQ(run("epilog.sh", node).exit_code, 0) << "there is nothing left to remove";
  node.env.emplace_back("HIPBROKER_SOCKET", "/nowhere/broker.sock");
  EXPECT_EQ(run("epilog.sh", node).exit_code, 69) << "no daemon: the node is not in order";
}

}  // namespace
}  // namespace hb::test
