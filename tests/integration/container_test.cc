// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Pods and jobs: processes in namespaces of their own, of other uids, with nothing of the daemon but the one
// directory that was mounted; each killed at the first pidfd_getfd, ptrace or process_vm_readv.
#include <signal.h>
#include <sys/wait.h>

#include <filesystem>

#include "integration/scope_fixture.h"
#include "support/actor.h"
#include "support/container.h"

namespace hb::test {
namespace {

using testing::HasSubstr;

DaemonOptions guarded_daemon() {
  DaemonOptions options;
  options.process.forbid_fd_theft = true;
  return options;
}

class ContainerToContainer : public ScopeTest {
 protected:
  ContainerToContainer() : ScopeTest(guarded_daemon()) {}
  void SetUp() override {
    if (may_change_uid()) ScopeTest::SetUp();
  }

  Actor inside(const std::string& directory, std::uint32_t uid) {
    Container container;
    container.mounted = directory;
    container.hidden = daemon().run_dir();
    container.uid = uid;
    Actor actor(options_of(container), "container");
    actor.ok("open", {{"socket", std::string(kMountPoint) + "/broker.sock"}});
    return actor;
  }
  static Answer exported(Actor& actor, const std::string& name, int first, const std::string& acl) {
    actor.ok("objects", {{"fds", name}, {"first", first}});
    return actor.ok("export", {{"export", name}, {"fds", name}, {"name", name}, {"acl", acl}});
  }
};

TEST_F(ContainerToContainer, S6_TwoPodsShareThroughOneMountedDirectory) {
  if (IsSkipped() || HasFailure()) return;
  const std::string job = made(question("job-4711", {1001, 1002}, {{"bytes", 200ull << 30}}));
  const std::string other = made(question("job-4712", {1001}));
  Actor server = inside(job, 1001);
  Actor worker = inside(job, 1002);
  Actor neighbour = inside(other, 1001);
  EXPECT_EQ(server.ok("info").text("scope"), "job-4711");
  EXPECT_EQ(server.ok("info").number("uid"), 1001u) << "as the kernel tells it";

  // By the access list: what it names is there, what it does not is not.
  const std::string key = exported(server, "weights", 5, "u:1002:1").text("key");
  exported(server, "private", 6, "");
  worker.ok("import", {{"import", "w"}, {"name", "weights"}, {"owner", 1001}});
  worker.ok("pattern", {{"import", "w"}, {"first", 5}});
  EXPECT_EQ(worker.call("import", {{"import", "x"}, {"name", "private"}, {"owner", 1001}}).status,
            HB_NOT_FOUND);
  EXPECT_EQ(worker.ok("list").text("names"), "weights");

  // The same uid in another scope: nobody.
  EXPECT_EQ(neighbour.ok("list").number("count"), 0u);
  EXPECT_EQ(neighbour.call("import", {{"import", "x"}, {"name", "weights"}}).status, HB_NOT_FOUND);
  EXPECT_EQ(neighbour.call("import", {{"import", "x"}, {"key", key}}).status, HB_NOT_FOUND);
  EXPECT_EQ(exported(neighbour, "weights", 9, "").status, HB_OK);

  // Killed and started anew by whoever starts daemons: the mount leads to the new one, and nobody in the pods
  // does anything for that.
  daemon().kill9();
  daemon().start();
  EXPECT_EQ(server.call("ping", {{"timeout_ms", 60'000}}).status, HB_OK);
  EXPECT_GE(server.ok("stats").number("reconnects"), 1u);
  worker.ok("pattern", {{"import", "w"}, {"first", 5}});  // mapped all along
  exported(server, "next", 7, "u:1002:1");
  worker.ok("import", {{"import", "n"}, {"name", "next"}, {"owner", 1001}});
  worker.ok("pattern", {{"import", "n"}, {"first", 7}});
  EXPECT_EQ(neighbour.call("ping", {{"timeout_ms", 60'000}}).status, HB_OK);

  // The end of the job takes all it left.
  const auto removed = remove("job-4711");
  ASSERT_EQ(removed.status, HB_OK) << removed.error.message();
  EXPECT_EQ(removed.reply.sessions(), 2u);
  EXPECT_GE(removed.reply.exports(), 1u);
  EXPECT_FALSE(std::filesystem::exists(job));
  EXPECT_NE(server.call("ping", {{"timeout_ms", 50}}).status, HB_OK);
  worker.ok("pattern", {{"import", "n"}, {"first", 7}});  // nobody can unmap for it
  neighbour.ok("ping");
  server.kill9();
  worker.kill9();
  neighbour.kill9();
  ASSERT_EQ(remove("job-4712").status, HB_OK);
  expect_baseline("both jobs are over");
}

TEST_F(ContainerToContainer, S6_WhoIsNotNamedIsToldSo) {
  if (IsSkipped() || HasFailure()) return;
  const std::string job = made(question("job", {1001}));
  Container container;
  container.mounted = job;
  container.hidden = daemon().run_dir();
  container.uid = 1003;
  Actor stranger(options_of(container), "container");
  const Answer refused =
      stranger.call("open", {{"socket", std::string(kMountPoint) + "/broker.sock"}, {"timeout_ms", 60'000}});
  EXPECT_EQ(refused.status, HB_DENIED) << refused;
  EXPECT_THAT(refused.message(), HasSubstr("uid 1003 may not enter scope job"));
  stranger.kill9();
  EXPECT_EQ(remove("job").status, HB_OK);
}

// A daemon that is in a pod itself sees no pid of its clients.
TEST(DaemonInAPod, S6_APidThatCannotBeSeenIsUnknown) {
  if (!may_change_uid()) return;
  const TempDir dir;
  const std::string run = dir / "run";
  std::filesystem::create_directory(run);
  write_file(dir / "hipbrokerd.toml", "");
  write_file(dir / "policy.toml", "[[rule]]\nallow = \"all\"\n");
  Container pod;
  pod.program = daemon_program() + " --config " + (dir / "hipbrokerd.toml") + " --policy " +
                (dir / "policy.toml") + " --socket " + run + "/broker.sock";
  Process daemon({own_program(), "--role=container"}, options_of(pod));
  ASSERT_TRUE(poll_until([&] { return RawPeer::try_hello(run + "/broker.sock"); }));
  {
    Actor owner;
    owner.ok("open", {{"socket", run + "/broker.sock"}});
    EXPECT_EQ(owner.ok("info").number("pid"), 0u);
    owner.ok("objects", {{"fds", "a"}, {"first", 3}});
    owner.ok("export", {{"export", "a"}, {"fds", "a"}, {"name", "a"}, {"acl", ""}});
    Actor reader;
    reader.ok("open", {{"socket", run + "/broker.sock"}});
    reader.ok("import", {{"name", "a"}});
    // Without a pid to watch, the end of the connection is the end of the session.
    owner.kill9();
    EXPECT_TRUE(poll_until([&] { return reader.ok("list").number("count") == 0; }));
    reader.leave();
  }
  daemon.signal(SIGTERM);
  const auto status = daemon.wait();
  ASSERT_TRUE(status);
  EXPECT_TRUE(WIFEXITED(*status) && WEXITSTATUS(*status) == 0) << describe_exit(*status);
}

}  // namespace
}  // namespace hb::test
