// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// The daemon behind its sandbox, and under the user it should be. That everything else works there, the other
// tests show: their daemons run confined, too.
#include <gmock/gmock.h>
#include <sys/stat.h>

#include <filesystem>

#include "hipbroker/hipbroker.h"
#include "support/actor.h"
#include "support/fixture.h"

namespace hb::test {
namespace {

using testing::HasSubstr;
using testing::Not;

// Of each thread: the closers' and the writer's too.
std::vector<std::string> status_of_threads(pid_t pid) {
  std::vector<std::string> out;
  for (const auto& thread : std::filesystem::directory_iterator("/proc/" + std::to_string(pid) + "/task"))
    out.push_back(read_file(thread.path() / "status"));
  return out;
}

constexpr const char* kCapabilitySets[] = {"CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"};

class Sandbox : public DaemonTest {};

TEST_F(Sandbox, HoldsInEveryThread) {
  const auto threads = status_of_threads(daemon().pid());
  EXPECT_GE(threads.size(), 3u);
  for (const std::string& status : threads) {
    EXPECT_THAT(status, HasSubstr("\nNoNewPrivs:\t1\n"));
    EXPECT_THAT(status, HasSubstr("\nSeccomp:\t2\n"));
    for (const char* set : kCapabilitySets) {
      // Without CAP_SETPCAP at the start the bounding set stays: it gives nothing without an exec.
      if (std::string(set) == "CapBnd" && ::geteuid() != 0) continue;
      EXPECT_THAT(status, HasSubstr("\n" + std::string(set) + ":\t0000000000000000\n"));
    }
  }
  EXPECT_THAT(daemon().log_with("sandbox: no new privileges, no capabilities, system calls by list"),
              HasSubstr("sandbox: no new privileges, no capabilities, system calls by list"));
}

TEST_F(Sandbox, IsToldOnTheAdminSocket) {
  Actor admin;
  admin.ok("open", {{"socket", daemon().admin_socket()}});
  EXPECT_EQ(admin.ok("daemon_status").number("sandbox"), static_cast<std::uint64_t>(HB_SANDBOX_WHOLE));
}

TEST_F(Sandbox, RootWithoutAUserIsToldTheWayOut) {
  if (!may_change_uid()) return;
  EXPECT_THAT(daemon().log_with("runs as root"), HasSubstr("runs as root"));
  EXPECT_THAT(daemon().log_with("--user NAME"), HasSubstr("--user NAME"));
}

class NoSandbox : public DaemonTest {
 protected:
  NoSandbox()
      : DaemonTest([] {
          DaemonOptions options;
          options.config = "sandbox = \"off\"\n";
          return options;
        }()) {}
};

TEST_F(NoSandbox, IsSaidAndServes) {
  for (const std::string& status : status_of_threads(daemon().pid()))
    EXPECT_THAT(status, HasSubstr("\nSeccomp:\t0\n"));
  EXPECT_THAT(daemon().log_with("warning sandbox: off"), HasSubstr("warning sandbox: off"));
  EXPECT_EQ(admin_peer().status().reply.sandbox(), static_cast<std::uint32_t>(HB_SANDBOX_TOLD));
}

void expect_owner(const std::string& path, uid_t uid, mode_t mode) {
  struct stat status {};
  ASSERT_EQ(::lstat(path.c_str(), &status), 0) << path;
  EXPECT_EQ(status.st_uid, uid) << path;
  EXPECT_EQ(status.st_gid, uid) << path;
  EXPECT_EQ(status.st_mode & 07777, mode) << path;
}

DaemonOptions of_nobody() {
  DaemonOptions options;
  options.args = {"--user", "65534"};
  options.run_dir = "made/by/it";
  return options;
}

// Started as root, in a directory that does not exist yet.
class OwnUser : public DaemonTest {
 protected:
  OwnUser() : DaemonTest(of_nobody()) {}
  void SetUp() override {
    if (may_change_uid()) DaemonTest::SetUp();
  }
};

TEST_F(OwnUser, ServesOthersAndItsFilesAreItsOwn) {
  for (const std::string& status : status_of_threads(daemon().pid())) {
    EXPECT_THAT(status, HasSubstr("\nUid:\t65534\t65534\t65534\t65534\n"));
    EXPECT_THAT(status, HasSubstr("\nGid:\t65534\t65534\t65534\t65534\n"));
    EXPECT_THAT(status, HasSubstr("\nGroups:\t65534 \n"));
    for (const char* set : kCapabilitySets)
      EXPECT_THAT(status, HasSubstr("\n" + std::string(set) + ":\t0000000000000000\n"));
  }
  EXPECT_THAT(daemon().log_with("became user \"65534\" (uid 65534)"),
              HasSubstr("became user \"65534\" (uid 65534)"));
  EXPECT_THAT(daemon().log(), Not(HasSubstr("runs as root")));
  expect_owner(daemon().run_dir(), 65534, 0755);
  expect_owner(daemon().socket(), 65534, 0666);
  expect_owner(daemon().socket() + ".lock", 65534, 0600);
  expect_owner(daemon().run_dir() + "/admin", 65534, 0700);
  expect_owner(daemon().admin_socket(), 65534, 0600);

  ProcessOptions one;
  one.uid = 1001;
  ProcessOptions two;
  two.uid = 1002;
  Actor owner(daemon(), one);
  Actor reader(daemon(), two);
  owner.ok("objects", {{"fds", "a"}, {"first", 7}});
  owner.ok("export", {{"export", "a"}, {"fds", "a"}, {"name", "a"}, {"acl", "u:1002:1"}});
  reader.ok("import", {{"import", "i"}, {"name", "a"}, {"owner", 1001}});
  reader.ok("pattern", {{"import", "i"}, {"first", 7}});
  // And again over what is left of a daemon that was killed.
  owner.leave();
  reader.leave();
  daemon().restart();
  EXPECT_EQ(peer().ping(), HB_OK);
}

// With no right of anybody's: in a directory of its own, started as it stays.
class NotRoot : public DaemonTest {
 protected:
  NotRoot()
      : DaemonTest([] {
          DaemonOptions options;
          options.process.uid = 65534;
          return options;
        }()) {}
  void SetUp() override {
    if (may_change_uid()) DaemonTest::SetUp();
  }
};

TEST_F(NotRoot, IsAllItNeeds) {
  for (const std::string& status : status_of_threads(daemon().pid())) {
    EXPECT_THAT(status, HasSubstr("\nSeccomp:\t2\n"));
    EXPECT_THAT(status, HasSubstr("\nCapEff:\t0000000000000000\n"));
  }
  Actor owner(daemon());
  owner.ok("objects", {{"fds", "a"}, {"first", 7}});
  owner.ok("export", {{"export", "a"}, {"fds", "a"}, {"name", "a"}});
  owner.ok("import", {{"import", "i"}, {"name", "a"}});
  owner.ok("pattern", {{"import", "i"}, {"first", 7}});
}

TEST(SandboxRefusal, OnlyRootBecomesAnotherUser) {
  if (!may_change_uid()) return;
  const TempDir dir;
  ProcessOptions options;
  options.uid = 1001;
  const DaemonRefusal refused =
      run_daemon_to_exit({"--user", "65534", "--socket", dir / "run/broker.sock"}, options);
  EXPECT_EQ(refused.exit_code, 71);
  EXPECT_THAT(refused.output, HasSubstr("this is uid 1001"));
}

TEST(SandboxRefusal, AForeignDirectoryStaysForeign) {
  if (!may_change_uid()) return;
  const TempDir dir;
  std::filesystem::create_directory(dir / "run");
  const DaemonRefusal refused = run_daemon_to_exit({"--user", "65534", "--socket", dir / "run/broker.sock"});
  EXPECT_EQ(refused.exit_code, 71);
  EXPECT_THAT(refused.output, HasSubstr("cannot make a socket in \"" + (dir / "run") + "\""));
  EXPECT_TRUE(std::filesystem::is_empty(dir / "run"));
  struct stat status {};
  ASSERT_EQ(::stat((dir / "run").c_str(), &status), 0);
  EXPECT_EQ(status.st_uid, 0u);
}

}  // namespace
}  // namespace hb::test
