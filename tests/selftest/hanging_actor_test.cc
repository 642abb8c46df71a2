// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// A process of the self-test that hangs in the driver, or is killed: its step says so, and the others go on.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "run_selftest.h"

namespace hb::test {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;

// Processes that `parent` started with `words` in their command line and that are still there.
std::vector<pid_t> children_of(pid_t parent, const std::string& words) {
  std::vector<pid_t> out;
  std::ifstream in("/proc/" + std::to_string(parent) + "/task/" + std::to_string(parent) + "/children");
  for (pid_t child = 0; in >> child;)
    if (read_file("/proc/" + std::to_string(child) + "/cmdline").find(words) != std::string::npos)
      out.push_back(child);
  return out;
}

std::vector<pid_t> actors_of(pid_t parent) { return children_of(parent, "--actor"); }

class HangingActor : public testing::Test {
 protected:
  // Every call of hipEventRecord hangs: of all steps only the last of its list makes one.
  HangingActor() : out_(::memfd_create("stdout", MFD_CLOEXEC)) {
    options_.env = {{"TMPDIR", folder_.path()},
                    {"XDG_CACHE_HOME", folder_.path()},
                    {"HIPBROKER_SYSFS_ROOT", "/nonexistent"},
                    {"HIPBROKER_HIP_RUNTIME", FAKE_HIP_PATH_7},
                    {"HIP_VISIBLE_DEVICES", "2"},
                    {"FAKE_HIP_SWITCHES", "hang=hipEventRecord"},
                    {"FAKE_HIP_STATE", "selftest" + std::to_string(::getpid())}};
  }
  [[nodiscard]] std::string page() const { return read_file("/proc/self/fd/" + std::to_string(out_.get())); }
  [[nodiscard]] bool has_come_to_it() const {
    return page().find("PASS      gpu/external") != std::string::npos;
  }
  void expect_failed(Process& process, const std::string& reason) {
    const std::optional<int> status = process.wait(3 * kWatchdogNs);
    ASSERT_TRUE(status.has_value());
    EXPECT_EQ(describe_exit(*status), "exited with 1") << page();
    EXPECT_THAT(page(), ContainsRegex("FAIL +gpu/unmap-when +[a-z_]+: " + reason));
    EXPECT_THAT(page(), HasSubstr(" passed, 1 failed, "));
    EXPECT_THAT(page(), HasSubstr("\nNOT HERE  peers"));  // it went on
    EXPECT_EQ(left_in(folder_), 0u);
  }

  TempDir folder_;
  UniqueFd out_;
  ProcessOptions options_;
};

TEST_F(HangingActor, IsKilledInTimeAndItsStepNamed) {
  Process process({HB_TEST_SELFTEST}, options_, {{out_.get(), STDOUT_FILENO}, {out_.get(), STDERR_FILENO}});
  expect_failed(process, "no answer in time");
}

TEST_F(HangingActor, KilledItFailsItsStep) {
  Process process({HB_TEST_SELFTEST}, options_, {{out_.get(), STDOUT_FILENO}, {out_.get(), STDERR_FILENO}});
  ASSERT_TRUE(poll_until([&] { return has_come_to_it() && actors_of(process.pid()).size() == 2; }));
  ::kill(actors_of(process.pid())[1], SIGKILL);
  expect_failed(process, "the process died of signal 9");
}

TEST_F(HangingActor, ADaemonThatIsKilledIsNamedOnce) {
  Process process({HB_TEST_SELFTEST}, options_, {{out_.get(), STDOUT_FILENO}, {out_.get(), STDERR_FILENO}});
  ASSERT_TRUE(poll_until([&] { return page().find("PASS      host/one-chunk") != std::string::npos; }));
  ::kill(children_of(process.pid(), "hipbrokerd").at(0), SIGKILL);
  const std::optional<int> status = process.wait(3 * kWatchdogNs);
  ASSERT_TRUE(status.has_value());
  EXPECT_EQ(describe_exit(*status), "exited with 1") << page();
  const std::string said = page();
  const std::string words = "the daemon that this test started ended (SIGKILL)";
  ASSERT_NE(said.find(words), std::string::npos) << said;
  EXPECT_EQ(said.find(words), said.rfind(words)) << said;
  EXPECT_EQ(said.find("Start hipbrokerd"), std::string::npos) << said;
  EXPECT_THAT(said, ContainsRegex("FAIL +gpu/unmap-when +not run: that daemon is gone"));
  EXPECT_THAT(said, HasSubstr("PASS      probe/import"));  // what needs none goes on
  EXPECT_EQ(left_in(folder_), 0u);
}

}  // namespace
}  // namespace hb::test
