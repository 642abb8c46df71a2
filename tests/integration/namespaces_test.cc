// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Clients and daemons in containers: namespaces of their own, and of the host nothing but the directory of
// the socket. Host memory alone: what memory it is, no namespace is asked.
#include <gmock/gmock.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <sstream>

#include "hipbroker/hipbroker.h"
#include "support/actor.h"
#include "support/fd_census.h"
#include "support/fixture.h"
#include "support/role.h"
#include "support/system_call_log.h"

namespace hb::test {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr const char* kInside = "/run/hipbroker";  // where a container sees the directory

// Uid 0 inside is `uid` outside; every namespace is its own.
ProcessOptions container(const TempDir& root, std::uint32_t uid, const std::string& directory) {
  ProcessOptions options;
  options.namespaces.flags = kAllNamespaces;
  options.namespaces.uid_map = "0 " + std::to_string(uid) + " 1\n";
  options.namespaces.gid_map = options.namespaces.uid_map;
  options.namespaces.root = root.path();
  options.namespaces.binds = {{directory, kInside}};
  return options;
}

class Containers : public DaemonTest {
 protected:
  explicit Containers(DaemonOptions options = {}) : DaemonTest(std::move(options)) {}
  void SetUp() override {
    if (may_change_uid()) DaemonTest::SetUp();
  }
  static void open(Actor& actor) { actor.ok("open", {{"socket", std::string(kInside) + "/broker.sock"}}); }
};

TEST_F(Containers, B10_B12_TwoUsersShareWithNothingButTheDirectory) {
  const TempDir one;
  const TempDir two;
  const TempDir three;
  Actor producer(container(one, 1001, daemon().run_dir()));
  Actor consumer(container(two, 1002, daemon().run_dir()));
  Actor stranger(container(three, 1003, daemon().run_dir()));
  for (Actor* actor : {&producer, &consumer, &stranger}) open(*actor);
  EXPECT_EQ(producer.ok("info").number("uid"), 1001u);
  EXPECT_EQ(consumer.ok("info").number("uid"), 1002u);

  producer.ok("alloc", {{"bytes", 6 << 20}, {"chunk", 2 << 20}});
  producer.ok("fill", {{"mem", "m"}, {"seed", 1}});
  const std::string key =
      producer.ok("export", {{"mem", "m"}, {"name", "kv"}, {"acl", "u:1002:3"}}).text("key");
  EXPECT_EQ(consumer.ok("list").text("names"), "kv");
  EXPECT_EQ(stranger.ok("list").number("count"), 0u);
  EXPECT_EQ(stranger.call("import", {{"key", key}}).status, HB_DENIED);
  consumer.ok("import", {{"name", "kv"}, {"owner", 1001}, {"access", HB_ACCESS_READ_WRITE}});
  consumer.ok("check", {{"import", "i"}, {"seed", 1}});
  consumer.ok("fill", {{"import", "i"}, {"seed", 2}});
  producer.ok("check", {{"mem", "m"}, {"seed", 2}});
  const Answer read = consumer.ok("acquire", {{"key", key}, {"demand", HB_LEVEL_PER_READER}});
  EXPECT_EQ(read.number("level"), static_cast<std::uint64_t>(HB_LEVEL_PER_READER));
  // From outside they are who they are.
  EXPECT_EQ(producer.ok("who").text("uids"), "1002 1002");
  // A death in another pid namespace is seen.
  consumer.kill9();
  EXPECT_TRUE(poll_until([&] { return producer.ok("who").number("count") == 0; }));
}

TEST_F(Containers, B10_NoAbstractName) {
  std::vector<std::string> held = open_fds(daemon().pid());
  std::istringstream table(read_file("/proc/" + std::to_string(daemon().pid()) + "/net/unix"));
  std::size_t own = 0;
  for (std::string line; std::getline(table, line);) {
    std::istringstream fields(line);
    std::string number, references, protocol, flags, type, state, inode, path;
    fields >> number >> references >> protocol >> flags >> type >> state >> inode >> path;
    const std::string target = "socket:[" + inode + "]";
    for (const std::string& fd : held) {
      if (!fd.ends_with(target)) continue;
      ++own;
      EXPECT_FALSE(path.starts_with("@")) << line;
    }
    EXPECT_THAT(line, Not(HasSubstr("@hipbroker")));
  }
  EXPECT_GE(own, 2u) << "its listeners";
}

constexpr const char* kTheft =
    "ptrace,pidfd_getfd,process_vm_readv,process_vm_writev,process_madvise,capset,kill,tkill,tgkill,"
    "pidfd_send_signal";

// Nobody reaches into anybody, and nobody has a capability to do so. (The same with a filter that kills at
// the first such call: OtherUser.B11.)
TEST_F(Containers, B11_NothingIsTakenOutOfAProcess) {
  ProcessOptions one;
  one.uid = 1001;
  ProcessOptions two;
  two.uid = 1002;
  Actor producer(one);
  Actor consumer(two);
  SystemCallLog of_daemon(daemon().pid(), kTheft);
  SystemCallLog of_producer(producer.pid(), kTheft);
  SystemCallLog of_consumer(consumer.pid(), kTheft);
  for (Actor* actor : {&producer, &consumer}) {
    actor->ok("open", {{"socket", daemon().socket()}});
    EXPECT_THAT(read_file("/proc/" + std::to_string(actor->pid()) + "/status"),
                HasSubstr("\nCapEff:\t0000000000000000\n"));
  }
  producer.ok("alloc", {{"bytes", 4 << 20}});
  producer.ok("fill", {{"mem", "m"}, {"seed", 1}});
  producer.ok("export", {{"mem", "m"},
                         {"name", "kv"},
                         {"acl", "u:1002:1"},
                         {"lifetime", HB_LIFETIME_LINGER},
                         {"linger_ms", 60'000}});
  EXPECT_EQ(of_producer.stop(), "");
  // Its own descriptors are gone, and so is the process.
  producer.leave();
  consumer.ok("import", {{"name", "kv"}, {"owner", 1001}});
  consumer.ok("check", {{"import", "i"}, {"seed", 1}});
  EXPECT_EQ(of_daemon.stop(), "");
  EXPECT_EQ(of_consumer.stop(), "");
  // What lingers ends with its heir.
  Actor heir(daemon(), one);
  heir.ok("claim", {{"name", "kv"}});
}

// A server that is not ours, of a user without a number in the client's namespace.
HB_ROLE(planted_outside) {
  const UniqueFd listener(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, args.at(0).c_str(), sizeof address.sun_path - 1);
  if (::bind(listener.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) return 1;
  if (::chmod(args[0].c_str(), 0666) != 0 || ::listen(listener.get(), 16) != 0) return 2;
  send_message(kChannelFd, {{"ready", 1}});
  while (receive_message(kChannelFd, UINT64_MAX / 2)) {
    std::uint64_t bytes = 0;
    while (wait_readable(listener.get(), 0)) {
      const UniqueFd accepted(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
      char buffer[65536];
      for (ssize_t n; (n = ::recv(accepted.get(), buffer, sizeof buffer, 0)) > 0;)
        bytes += static_cast<std::uint64_t>(n);
    }
    send_message(kChannelFd, {{"bytes", bytes}});
  }
  return 0;
}

// Inside, the planter, root outside and a container's own nobody all show as uid 65534.
TEST(ContainerTrust, B13_APlantedServerIsCaughtInsideToo) {
  if (!may_change_uid()) return;
  const TempDir shared;
  ASSERT_EQ(::chmod(shared.path().c_str(), 01777), 0);
  const std::string path = shared / "broker.sock";
  auto [channel, theirs] = channel_pair();
  ProcessOptions planter;
  planter.uid = 1003;
  Process server({own_program(), "--role=planted_outside", path}, planter, {{theirs.get(), kChannelFd}});
  theirs.reset();
  ASSERT_TRUE(receive_message(channel.get(), kWatchdogNs));
  const std::string inside = std::string(kInside) + "/broker.sock";
  const auto try_as = [&](const ProcessOptions& options, const Message& more = {}) {
    Actor client(options);
    Message ask{{"socket", inside}, {"timeout_ms", 2000}};
    ask.insert(more.begin(), more.end());
    const Answer answer = client.call("open", ask);
    EXPECT_EQ(answer.status, HB_UNTRUSTED) << answer;
    EXPECT_THAT(answer.message(), HasSubstr(inside));
    client.leave();
    send_message(channel.get(), {{"report", 1}});
    const auto report = receive_message(channel.get(), kWatchdogNs);
    ASSERT_TRUE(report);
    EXPECT_EQ(number_of(*report, "bytes", 1), 0u);
  };
  {
    // The directory is the container's own root's, as a volume that several containers share.
    const TempDir root;
    ASSERT_EQ(::chown(shared.path().c_str(), 1001, 1001), 0);
    try_as(container(root, 1001, shared.path()));
    try_as(container(root, 1001, shared.path()), {{"trusted", 65534}});
  }
  {
    // As the container's nobody, whose files look like the planter's.
    const TempDir root;
    ASSERT_EQ(::chown(shared.path().c_str(), 100'000, 100'000), 0);
    ProcessOptions nobody = container(root, 0, shared.path());
    nobody.namespaces.uid_map = "0 100000 65535\n";
    nobody.namespaces.gid_map = nobody.namespaces.uid_map;
    nobody.uid = 65534;
    try_as(nobody);
    try_as(nobody, {{"trusted", 65534}});
  }
}

// --- the daemon inside ---------------------------------------------------------------------------

DaemonOptions in_a_pid_namespace() {
  DaemonOptions options;
  options.process.namespaces.flags = CLONE_NEWPID;
  return options;
}

class DaemonInside : public Containers {
 protected:
  DaemonInside() : Containers(in_a_pid_namespace()) {}
};

TEST_F(DaemonInside, PidsOfClientsOutsideAreUnknownAndNothingIsDoneToPid0) {
  SystemCallLog log(daemon().pid(),
                    "open,openat,stat,newfstatat,statx,access,readlink,kill,tkill,tgkill,"
                    "pidfd_open,pidfd_send_signal");
  Actor owner(daemon());
  Actor reader(daemon());
  EXPECT_EQ(owner.ok("info").text("pid"), "0");
  owner.ok("objects", {{"fds", "a"}, {"first", 7}});
  owner.ok("export", {{"export", "a"}, {"fds", "a"}, {"name", "a"}});
  reader.ok("import", {{"import", "i"}, {"name", "a"}});
  reader.ok("pattern", {{"import", "i"}, {"first", 7}});
  EXPECT_EQ(owner.ok("who").text("pids"), "0");
  reader.kill9();
  EXPECT_TRUE(poll_until([&] { return owner.ok("who").number("count") == 0; }));
  const std::string calls = log.stop();
  EXPECT_THAT(calls, Not(HasSubstr("/proc/0")));
  EXPECT_THAT(calls, Not(HasSubstr("kill(")));
  EXPECT_THAT(calls, Not(HasSubstr("pidfd_open")));
  EXPECT_THAT(calls, Not(HasSubstr("pidfd_send_signal")));
  EXPECT_THAT(daemon().log(), Not(HasSubstr("pid 0")));
}

// Uids 0 to 65534 inside are 100000 to 165534 outside. `more`: so that the test itself is somebody there.
DaemonOptions in_a_user_namespace(const std::string& more = "70000 0 1\n") {
  DaemonOptions options;
  options.process.namespaces.flags = CLONE_NEWUSER;
  options.process.namespaces.uid_map = "0 100000 65535\n" + more;
  options.process.namespaces.gid_map = options.process.namespaces.uid_map;
  options.run_dir_owner = 100'000;
  return options;
}

class DaemonMapped : public Containers {
 protected:
  DaemonMapped() : Containers(in_a_user_namespace()) {}
  static ProcessOptions as(std::uint32_t uid, std::vector<std::uint32_t> groups = {}) {
    ProcessOptions options;
    options.uid = uid;
    options.groups = std::move(groups);
    return options;
  }
};

TEST_F(DaemonMapped, UidsWithoutANumberMatchNothing) {
  EXPECT_THAT(daemon().log_with("in a user namespace of 65536 uids"),
              HasSubstr("in a user namespace of 65536 uids"));
  Actor owner(daemon(), as(101'001));
  EXPECT_EQ(owner.ok("info").number("uid"), 1001u);
  owner.ok("objects", {{"fds", "a"}, {"first", 7}});
  owner.ok("export", {{"export", "a"}, {"fds", "a"}, {"name", "a"}, {"acl", "u:65534:1 g:65534:1 u:1002:1"}});
  Actor reader(daemon(), as(101'002));
  reader.ok("import", {{"import", "i"}, {"name", "a"}, {"owner", 1001}});
  // Of no number: a user outside, the outside's nobody; and who has that very number inside.
  for (const std::uint32_t uid : {1001u, 65534u, 165'534u}) {
    Actor other(as(uid));
    const Answer refused = other.call("open", {{"socket", daemon().socket()}});
    EXPECT_EQ(refused.status, HB_DENIED) << uid << ": " << refused;
    EXPECT_THAT(refused.message(), HasSubstr("65534"));
    EXPECT_THAT(refused.message(), HasSubstr("user namespace"));
  }
  EXPECT_EQ(owner.ok("who").text("uids"), "1002");
}

TEST_F(DaemonMapped, GidsWithoutANumberMatchNothing) {
  Actor owner(daemon(), as(101'001));
  owner.ok("objects", {{"fds", "a"}, {"first", 7}});
  owner.ok("export", {{"export", "a"}, {"fds", "a"}, {"name", "a"}, {"acl", "g:65534:1"}});
  owner.ok("objects", {{"fds", "b"}, {"first", 8}});
  owner.ok("export", {{"export", "b"}, {"fds", "b"}, {"name", "b"}, {"acl", "g:44:1"}});
  ProcessOptions options = as(101'002, {5000, 100'044, 165'534});
  options.gid = 4000;
  Actor reader(daemon(), options);
  EXPECT_EQ(reader.call("import", {{"import", "a"}, {"name", "a"}, {"owner", 1001}}).status, HB_NOT_FOUND);
  reader.ok("import", {{"import", "b"}, {"name", "b"}, {"owner", 1001}});
}

// Root outside has no number either. It reaches the directory of the admin socket, and with it the right.
TEST(DaemonWithoutRoot, TheAdminSocketIsWhoseDirectoryOpens) {
  if (!may_change_uid()) return;
  DaemonOptions options = in_a_user_namespace("");
  options.ready_on_admin = true;
  const DaemonProcess daemon(options);
  Actor root;
  EXPECT_EQ(root.call("open", {{"socket", daemon.socket()}}).status, HB_DENIED);
  root.ok("open", {{"socket", daemon.admin_socket()}});
  EXPECT_EQ(root.ok("daemon_status").text("exports"), "0");
}

TEST(DaemonUnmapped, DoesNotStart) {
  if (!may_change_uid()) return;
  const TempDir dir;
  ProcessOptions options;
  options.namespaces.flags = CLONE_NEWUSER;
  const DaemonRefusal refused = run_daemon_to_exit({"--socket", dir / "run/broker.sock"}, options);
  EXPECT_EQ(refused.exit_code, 71);
  EXPECT_THAT(refused.output, HasSubstr("maps no uid"));
}

}  // namespace
}  // namespace hb::test
