// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Starting beside what is left over, what lives, and what was planted.
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>

#include "integration/memory_fixture.h"
#include "support/role.h"

namespace hb::test {
namespace {

ProcessOptions as(std::uint32_t uid) {
  ProcessOptions options;
  options.uid = uid;
  return options;
}

ino_t inode_of(const std::string& path) {
  struct stat s {};
  return ::stat(path.c_str(), &s) == 0 ? s.st_ino : 0;
}

class Startup : public DaemonTest {};

TEST_F(Startup, B04_StartsOverWhatAKilledDaemonLeft) {
  daemon().kill9();
  ASSERT_NE(inode_of(daemon().socket()), 0u) << "the leftover that this is about";
  daemon().start();
  EXPECT_EQ(peer().ping(), HB_OK);
}

TEST_F(Startup, B04_ASecondDaemonLeavesTheFirstAlone) {
  RawPeer session = peer();
  const ino_t before = inode_of(daemon().socket());
  std::vector<std::string> args = daemon().command_line();
  args.erase(args.begin());
  const DaemonRefusal second = run_daemon_to_exit(args);
  EXPECT_GT(second.exit_code, 0);
  EXPECT_NE(second.output.find(daemon().run_dir()), std::string::npos) << second.output;
  EXPECT_NE(second.output.find(std::to_string(daemon().pid())), std::string::npos) << second.output;
  EXPECT_EQ(inode_of(daemon().socket()), before);
  EXPECT_EQ(session.ping(), HB_OK);
  EXPECT_EQ(peer().ping(), HB_OK);
}

TEST(StartupAlone, B04_ADirectoryAtTheSocketsPathIsNotRemoved) {
  const TempDir dir;
  std::filesystem::create_directories(dir / "run/broker.sock/keep");
  const DaemonRefusal refused = run_daemon_to_exit({"--socket", dir / "run/broker.sock"});
  EXPECT_GT(refused.exit_code, 0);
  EXPECT_NE(refused.output.find("directory"), std::string::npos) << refused.output;
  EXPECT_NE(refused.output.find(dir / "run/broker.sock"), std::string::npos) << refused.output;
  EXPECT_TRUE(std::filesystem::is_directory(dir / "run/broker.sock/keep"));
}

TEST(StartupAlone, AFileThatIsNoSocketIsNotRemoved) {
  const TempDir dir;
  std::filesystem::create_directory(dir / "run");
  write_file(dir / "run/broker.sock", "somebody's notes");
  const DaemonRefusal refused = run_daemon_to_exit({"--socket", dir / "run/broker.sock"});
  EXPECT_GT(refused.exit_code, 0);
  EXPECT_EQ(read_file(dir / "run/broker.sock"), "somebody's notes") << refused.output;
}

TEST(StartupAlone, B13_TheDaemonRefusesADirectoryThatOthersCanWrite) {
  const TempDir dir;
  std::filesystem::create_directory(dir / "run");
  for (const mode_t mode : {0775, 0757, 0777}) {
    ASSERT_EQ(::chmod((dir / "run").c_str(), mode), 0);
    const DaemonRefusal refused = run_daemon_to_exit({"--socket", dir / "run/broker.sock"});
    EXPECT_GT(refused.exit_code, 0) << refused.output;
    EXPECT_NE(refused.output.find(dir / "run"), std::string::npos) << refused.output;
    EXPECT_FALSE(std::filesystem::exists(dir / "run/broker.sock"));
  }
}

// A server that is not ours: counts the bytes it gets from whoever connects.
HB_ROLE(planted) {
  UniqueFd listener(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, args.at(0).c_str(), sizeof address.sun_path - 1);
  if (::bind(listener.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) return 1;
  if (::chmod(args[0].c_str(), 0666) != 0 || ::listen(listener.get(), 16) != 0) return 2;
  send_message(kChannelFd, {{"ready", 1}});
  while (receive_message(kChannelFd, UINT64_MAX / 2)) {
    // The client is done: what it connected and sent lies here.
    std::uint64_t bytes = 0;
    std::uint64_t connections = 0;
    while (wait_readable(listener.get(), 0)) {
      const UniqueFd accepted(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
      ++connections;
      char buffer[65536];
      for (ssize_t n; (n = ::recv(accepted.get(), buffer, sizeof buffer, 0)) > 0;)
        bytes += static_cast<std::uint64_t>(n);
    }
    send_message(kChannelFd, {{"bytes", bytes}, {"connections", connections}});
  }
  return 0;
}

TEST(Trust, B13_APlantedServerGetsNoByte) {
  if (!may_change_uid()) return;
  const TempDir dir;
  const std::string open = dir / "open";
  std::filesystem::create_directory(open);
  ASSERT_EQ(::chmod(open.c_str(), 01777), 0);
  const std::string path = open + "/broker.sock";
  auto [channel, theirs] = channel_pair();
  Process server({own_program(), "--role=planted", path}, as(65534), {{theirs.get(), kChannelFd}});
  theirs.reset();
  ASSERT_TRUE(receive_message(channel.get(), kWatchdogNs));
  for (const std::uint32_t uid : {0u, 1001u}) {
    Actor client(as(uid));
    const Answer answer = client.call("open", {{"socket", path}, {"timeout_ms", 2000}});
    EXPECT_EQ(answer.status, HB_UNTRUSTED) << answer;
    EXPECT_NE(answer.message().find(path), std::string::npos) << answer.message();
    EXPECT_NE(answer.message().find("65534"), std::string::npos) << answer.message();
    client.leave();
    send_message(channel.get(), {{"report", 1}});
    const auto report = receive_message(channel.get(), kWatchdogNs);
    ASSERT_TRUE(report);
    EXPECT_EQ(number_of(*report, "bytes"), 0u);
  }
  // Who names its uid as trusted trusts the server, not the path.
  Actor client(as(1001));
  EXPECT_EQ(client.call("open", {{"socket", path}, {"timeout_ms", 2000}, {"trusted", 65534}}).status,
            HB_UNTRUSTED);
  client.leave();
}

// The control: the same server, in a directory that root gave to its user, is spoken to, and counts it.
TEST(Trust, ADelegatedDirectoryMakesItsOwnerTheServer) {
  if (!may_change_uid()) return;
  const TempDir dir;
  const std::string own = dir / "own";
  std::filesystem::create_directory(own);
  ASSERT_EQ(::chown(own.c_str(), 65534, 65534), 0);
  const std::string path = own + "/broker.sock";
  auto [channel, theirs] = channel_pair();
  Process server({own_program(), "--role=planted", path}, as(65534), {{theirs.get(), kChannelFd}});
  theirs.reset();
  ASSERT_TRUE(receive_message(channel.get(), kWatchdogNs));
  Actor client(as(1001));
  EXPECT_EQ(client.call("open", {{"socket", path}, {"timeout_ms", 50}}).status, HB_TIMEOUT);
  client.leave();
  send_message(channel.get(), {{"report", 1}});
  EXPECT_GT(number_of(receive_message(channel.get(), kWatchdogNs).value_or(Message{}), "bytes"), 0u);
}

DaemonOptions of_another_user() {
  DaemonOptions options;
  options.process.uid = 990;
  options.process.forbid_fd_theft = true;
  return options;
}
ProcessOptions guarded(std::uint32_t uid) {
  ProcessOptions options = as(uid);
  options.forbid_fd_theft = true;
  return options;
}

class OtherUser : public EveryMemory {
 protected:
  OtherUser() : EveryMemory(of_another_user()) {}
  void SetUp() override {
    if (may_change_uid()) EveryMemory::SetUp();
  }
};
HB_EVERY_MEMORY(OtherUser);

// Daemon, producer and consumer are three users without a capability between them, each killed at the first
// pidfd_getfd or ptrace (TheftFilter shows that the filter kills).
TEST_P(OtherUser, B11_ThreeUsersWithoutPtraceRights) {
  Actor producer = actor(guarded(1001));
  Actor consumer = actor(guarded(1002));
  producer.ok("alloc", {{"bytes", 6 << 20}, {"chunk", 2 << 20}});
  producer.ok("fill", {{"mem", "m"}, {"seed", 1}});
  const std::string key =
      producer.ok("export", {{"mem", "m"}, {"name", "kv"}, {"acl", "u:1002:3"}}).text("key");
  consumer.ok("import", {{"key", key}, {"access", HB_ACCESS_READ_WRITE}});
  consumer.ok("check", {{"import", "i"}, {"seed", 1}});
  consumer.ok("fill", {{"import", "i"}, {"seed", 2}});
  producer.ok("check", {{"mem", "m"}, {"seed", 2}});
  // Nothing keeps a reader of GPU memory from writing.
  const std::uint64_t level = on_gpu() ? HB_LEVEL_INTENT : HB_LEVEL_PER_READER;
  const Answer read = consumer.ok("acquire", {{"key", key}, {"demand", level}});
  EXPECT_EQ(read.number("level"), level);
  EXPECT_EQ(producer.ok("who").text("uids"), "1002 1002");
  consumer.ok("release");  // one-way: seen by others when it is seen
  EXPECT_TRUE(poll_until([&] { return producer.ok("who").number("count") == 1; }));
  EXPECT_EQ(producer.ok("withdraw").number("holders"), 1u);
  consumer.leave();
  producer.leave();
}

class OtherUsersDirectory : public DaemonTest {
 protected:
  OtherUsersDirectory() : DaemonTest(of_another_user()) {}
  void SetUp() override {
    if (may_change_uid()) DaemonTest::SetUp();
  }
};

TEST_F(OtherUsersDirectory, B13_AClientRefusesADirectoryThatOthersCanWrite) {
  Actor client(as(1001));
  for (const mode_t mode : {0775, 0777}) {
    ASSERT_EQ(::chmod(daemon().run_dir().c_str(), mode), 0);
    const Answer answer = client.call("open", {{"socket", daemon().socket()}});
    EXPECT_EQ(answer.status, HB_UNTRUSTED) << answer;
    EXPECT_NE(answer.message().find(daemon().run_dir()), std::string::npos) << answer.message();
  }
  ASSERT_EQ(::chmod(daemon().run_dir().c_str(), 0755), 0);
  client.ok("open", {{"socket", daemon().socket()}});
  client.leave();
}

TEST(Trust, NoDaemonIsToldAtOnce) {
  const TempDir dir;
  Actor client;
  const Answer none = client.call("open", {{"socket", dir / "broker.sock"}});  // no deadline
  EXPECT_EQ(none.status, HB_NO_DAEMON) << none;
  EXPECT_NE(none.message().find(dir / "broker.sock"), std::string::npos) << none.message();
  // A socket nobody listens on any more.
  const UniqueFd socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, (dir / "broker.sock").c_str(), sizeof address.sun_path - 1);
  ASSERT_EQ(::bind(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  EXPECT_EQ(client.call("open", {{"socket", dir / "broker.sock"}}).status, HB_NO_DAEMON);
  client.leave();
}

}  // namespace
}  // namespace hb::test
