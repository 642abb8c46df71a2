// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Connections that are not whose they seem: handed on, their maker dead, its pid another's by now.
#include <linux/sched.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <array>

#include "hostile/hostile_fixture.h"
#include "support/fuse_file.h"

namespace hb::test {
namespace {

class HandedOn : public HostileTest {
 protected:
  // A connection whose maker has ended, of the given uid; and the pid that it had.
  std::pair<UniqueFd, pid_t> of_a_dead_process(std::uint32_t uid) {
    std::array<int, 2> ends{-1, -1};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()), 0);
    const UniqueFd ours(ends[0]), theirs(ends[1]);
    const pid_t maker = ::fork();
    if (maker == 0) {
      if (::setuid(uid) != 0) ::_exit(1);
      const UniqueFd socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
      sockaddr_un address{};
      address.sun_family = AF_UNIX;
      daemon().socket().copy(address.sun_path, sizeof address.sun_path - 1);
      if (::connect(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) ::_exit(2);
      const std::array<int, 1> fd{socket.get()};
      const std::array<std::byte, 1> byte{};
      if (!send_packet(theirs.get(), byte, {}, fd)) ::_exit(3);
      ::_exit(0);
    }
    int status = 0;
    EXPECT_EQ(::waitpid(maker, &status, 0), maker);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
    std::array<std::byte, 8> buffer{};
    auto got = receive_packet(ours.get(), buffer);
    EXPECT_TRUE(got && got->fds.size() == 1);
    return {std::move(got->fds.at(0)), maker};
  }
  // What the daemon says to it, and that it closes.
  static pb::Error refusal(const UniqueFd& socket) {
    pb::Error error;
    std::vector<std::byte> buffer(limits::kFrameBytes);
    for (;;) {
      if (!wait_readable(socket.get())) {
        ADD_FAILURE() << "neither answered nor closed";
        return error;
      }
      const auto got = receive_packet(socket.get(), buffer);
      if (!got || got->outcome != ReceiveOutcome::kPacket) return error;
      const auto frame = decode_frame(std::span(buffer).first(got->bytes));
      if (frame) error.ParseFromArray(frame->body.data(), static_cast<int>(frame->body.size()));
    }
  }
};

TEST_F(HandedOn, AConnectionWhoseMakerDiedBeforeItWasAccepted) {
  RawPeer other = peer();
  UniqueFd orphan;
  while_stopped([&] { orphan = of_a_dead_process(kAttacker).first; });
  const pb::Error error = refusal(orphan);
  EXPECT_EQ(error.status(), HB_DENIED) << error.message();
  expect_served(other, "while orphans come");
  expect_baseline("after the orphan", 1);
}

// The pid is another's when the daemon looks: not the newcomer's name, nor its rights, nor its life.
TEST_F(HandedOn, AConnectionWhosePidIsAnothersByNow) {
  RawPeer other = peer();
  UniqueFd orphan;
  pid_t newcomer = -1;
  while_stopped([&] {
    auto [socket, pid] = of_a_dead_process(kAttacker);
    orphan = std::move(socket);
    clone_args arguments{};
    pid_t wanted = pid;
    arguments.exit_signal = SIGCHLD;
    arguments.set_tid = reinterpret_cast<std::uint64_t>(&wanted);
    arguments.set_tid_size = 1;
    newcomer = static_cast<pid_t>(::syscall(SYS_clone3, &arguments, sizeof arguments));
    if (newcomer == 0) {
      ::pause();
      ::_exit(0);
    }
    EXPECT_EQ(newcomer, pid) << errno;
  });
  const pb::Error error = refusal(orphan);
  EXPECT_EQ(error.status(), HB_DENIED) << error.message();
  EXPECT_NE(process_state(newcomer), 'Z');
  EXPECT_EQ(::kill(newcomer, SIGKILL), 0);
  EXPECT_EQ(::waitpid(newcomer, nullptr, 0), newcomer);
  EXPECT_EQ(other.ping(), HB_OK);
  expect_baseline("after the orphan", 1);
}

// A descriptor that cannot be closed, in the connection of a dead process, is its uid's and not root's.
TEST_F(HandedOn, TheLastWordsOfADeadProcessAreChargedToItsUid) {
  FuseFile fuse;
  RawPeer other = peer();
  while_stopped([&] {
    std::vector<UniqueFd> orphans;
    std::vector<UniqueFd> file;
    file.push_back(fuse.open());
    for (int i = 0; i < 4; ++i) {
      orphans.push_back(of_a_dead_process(kAttacker).first);
      const std::array<std::byte, 1> byte{};
      const std::array<int, 1> fds{file[0].get()};
      EXPECT_TRUE(send_packet(orphans.back().get(), byte, {}, fds));
    }
    file.clear();
    fuse.hang();
  });
  // Closes of root's own sockets come through.
  for (int i = 0; i < 10; ++i) EXPECT_EQ(peer().ping(), HB_OK);
  EXPECT_TRUE(poll_until([&] { return daemon().connections() <= 4 + 1; })) << daemon().connections();
  fuse.end();
  expect_baseline("after the server has gone", 1);
}

// The session lives as long as the process that made it, whoever else holds the socket.
TEST_F(HandedOn, ASessionEndsWithItsMaker) {
  RawPeer owner = peer();
  const UniqueFd memory = sealed_memfd(kPage, 1);
  ASSERT_EQ(owner.export_fds("x", {memory.get()}).status, HB_OK);
  std::array<int, 2> ends{-1, -1};
  ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
  UniqueFd told(ends[0]), tell(ends[1]);
  const pid_t maker = ::fork();
  if (maker == 0) {
    RawPeer raw(daemon().socket());
    if (raw.hello().status != HB_OK || raw.acquire_name("x").status != HB_OK) ::_exit(1);
    const pid_t heir = ::fork();  // keeps a copy of the socket
    if (heir == 0) {
      ::pause();
      ::_exit(0);
    }
    if (::write(tell.get(), &heir, sizeof heir) != sizeof heir) ::_exit(2);
    ::_exit(0);
  }
  pid_t heir = -1;
  ASSERT_EQ(::read(told.get(), &heir, sizeof heir), static_cast<ssize_t>(sizeof heir));
  int status = 0;
  ASSERT_EQ(::waitpid(maker, &status, 0), maker);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  EXPECT_TRUE(poll_until([&] { return owner.list().reply.exports(0).leases() == 0; }));
  EXPECT_EQ(::kill(heir, SIGKILL), 0);
  owner.disconnect();
  expect_baseline("after the maker's end");
}

// Names are the owner's: a squatter of another uid keeps nobody from his, and nobody gets a squatter's
// memory.
TEST_F(HandedOn, NameSquatting) {
  RawPeer squatter = peer_as(kAttacker);
  RawPeer owner = peer_as(2002);
  RawPeer reader = peer_as(2003);
  const UniqueFd bad = sealed_memfd(kPage, 66);
  const UniqueFd good = sealed_memfd(kPage, 1);
  for (int i = 0; i < 500; ++i) {
    const std::string name = "model/" + std::to_string(i);
    ASSERT_EQ(squatter.export_fds(name, {bad.get()}, kPage, {acl_uid(2002, 3), acl_uid(2003, 3)}).status,
              HB_OK);
  }
  ASSERT_EQ(owner.export_fds("model/7", {good.get()}, kPage, {acl_uid(2003, 1)}).status, HB_OK);
  EXPECT_EQ(reader.acquire_name("model/7").status, HB_NOT_FOUND) << "a name alone is one's own";
  const auto got = reader.acquire_name("model/7", 1, 2002);
  ASSERT_EQ(got.status, HB_OK) << got.error.message();
  EXPECT_EQ(pattern_error(got.fds.at(0).get(), 0, kPage, 1), "");
  squatter.disconnect();
  EXPECT_EQ(reader.acquire_name("model/7", 1, 2002).status, HB_OK);
  owner.disconnect();
  reader.disconnect();
  expect_baseline("after all have left");
  expect_no_charges(0);
}

}  // namespace
}  // namespace hb::test
