// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// A daemon that cannot see the processes of its clients: what it does not know is shown as unknown.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>

#include "cli/run_ctl.h"
#include "support/actor.h"
#include "support/daemon_process.h"

namespace hb::test {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(CliNamespace, APidThatCannotBeSeenIsUnknown) {
  if (!may_change_uid()) return;
  DaemonOptions options;
  options.process.namespaces.flags = CLONE_NEWPID;
  const DaemonProcess daemon(options);
  Actor owner(daemon);
  owner.ok("objects", {{"fds", "a"}});
  owner.ok("export", {{"export", "a"}, {"fds", "a"}, {"name", "kv"}});
  owner.ok("import", {{"import", "i"}, {"name", "kv"}});
  for (const std::vector<std::string>& verb :
       std::vector<std::vector<std::string>>{{"who", "kv"}, {"ls"}, {"why", "kv"}, {"show", "kv"}}) {
    std::vector<std::string> line{"--socket", daemon.socket()};
    line.insert(line.end(), verb.begin(), verb.end());
    const Ran text = run_ctl(line);
    EXPECT_EQ(text.exit_code, 0) << text.err;
    EXPECT_THAT(text.out, HasSubstr("unknown")) << verb[0];
    EXPECT_THAT(text.out, Not(HasSubstr("pid 0"))) << verb[0];
    line.emplace_back("--json");
    const Ran told = run_ctl(line);
    EXPECT_EQ(told.exit_code, 0) << told.err;
    EXPECT_THAT(told.out, HasSubstr("\"pid\": null")) << verb[0];
    EXPECT_THAT(told.out, Not(HasSubstr("\"pid\": 0"))) << verb[0];
  }
}

}  // namespace
}  // namespace hb::test
