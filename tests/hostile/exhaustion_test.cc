// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// The daemon's descriptors used up by connections, and what who is turned away is told.
#include <sys/resource.h>

#include <sstream>

#include "hostile/hostile_fixture.h"
#include "support/actor.h"

namespace hb::test {
namespace {

// Times the daemon's loop went to sleep.
std::uint64_t sleeps(pid_t pid) {
  std::istringstream status(read_file("/proc/" + std::to_string(pid) + "/status"));
  std::string word;
  while (status >> word)
    if (word == "voluntary_ctxt_switches:" && status >> word) return std::strtoull(word.c_str(), nullptr, 10);
  ADD_FAILURE() << "no counter of context switches";
  return 0;
}

std::size_t lines_with(const std::string& text, const std::string& words) {
  std::size_t count = 0;
  std::istringstream lines(text);
  std::string line;
  while (std::getline(lines, line)) count += line.find(words) != std::string::npos ? 1 : 0;
  return count;
}

class Exhaustion : public HostileTest {
 protected:
  Exhaustion() : HostileTest(limited(64, 64)) {}
};

TEST_F(Exhaustion, B05_TwoHundredConnectionsUnderALimitOf64) {
  RawPeer before = peer();
  // Of many users, so that it is the descriptors that run out and not one user's share.
  std::vector<RawPeer> flood;
  for (unsigned i = 0; i < 200; ++i) flood.push_back(connect_as(3000 + i % 40));
  expect_served(before, "during the flood");
  ASSERT_TRUE(poll_until([&] { return daemon().log().find("new connections wait") != std::string::npos; }))
      << daemon().log();
  // It looks again ten times a second; a loop that spins would go round thousands of times.
  const std::uint64_t slept = sleeps(daemon().pid());
  const std::uint64_t until = now_ns() + 2'000'000'000;
  ASSERT_TRUE(poll_until([&] { return now_ns() >= until; }));
  EXPECT_LE(sleeps(daemon().pid()) - slept, 400u);
  expect_served(before, "while connections wait");
  EXPECT_EQ(admin_peer().status().reply.fds_limit(), 64u) << "who looks for the cause gets in";
  const std::size_t lines = lines_with(daemon().log(), "new connections wait");
  EXPECT_GE(lines, 1u);
  EXPECT_LE(lines, 3u);
  EXPECT_LE(lines_with(daemon().log(), "WARN") + lines_with(daemon().log(), "warning"), 20u)
      << daemon().log();
  flood.clear();
  RawPeer after = peer();
  EXPECT_EQ(after.ping(), HB_OK);
  after.disconnect();
  before.disconnect();
  expect_baseline("after the flood");
  expect_no_charges(0);
}

// Silent connections take their descriptors for the time of a hello, not longer.
TEST_F(Exhaustion, SilentConnectionsGiveWay) {
  std::vector<RawPeer> silent;
  for (unsigned i = 0; i < 60; ++i) silent.push_back(connect_as(3000 + i));
  RawPeer late(daemon().socket());
  EXPECT_EQ(late.hello().status, HB_OK);
  silent.clear();
  late.disconnect();
  expect_baseline("after the silent ones");
}

TEST_F(Exhaustion, WhoIsTurnedAwayIsToldWhy) {
  std::vector<RawPeer> held;
  RawAnswer<pb::HelloReply> answer;
  RawFrame last;
  for (int i = 0; i < 20; ++i) {
    held.push_back(connect_as(kAttacker));
    pb::Hello hello;
    hello.set_lowest_version(1);
    hello.set_highest_version(1);
    const std::string frame = encode({FrameType::kHello, 0, 0, 1}, hello.SerializeAsString());
    held.back().send_bytes(frame);  // it may have been turned away already
    last = held.back().receive();
    ASSERT_EQ(last.outcome, ReceiveOutcome::kPacket);
    if (last.header.type == FrameType::kError) break;
  }
  ASSERT_EQ(last.header.type, FrameType::kError);
  EXPECT_EQ(last.header.request_id, 0u);
  pb::Error error;
  ASSERT_TRUE(error.ParseFromString(last.body));
  EXPECT_EQ(error.status(), HB_QUOTA);
  EXPECT_EQ(error.what(), "sessions");
  EXPECT_EQ(error.limit(), held.size() - 1);
  EXPECT_EQ(error.used(), held.size() - 1);
  EXPECT_EQ(error.who(), "uid " + std::to_string(kAttacker));
  EXPECT_TRUE(held.back().ends());
  // The library makes it the status of its connect.
  ProcessOptions as_attacker;
  as_attacker.uid = kAttacker;
  Actor client(as_attacker);
  const Answer refused = client.call("open", {{"socket", daemon().socket()}});
  EXPECT_EQ(refused.status, HB_QUOTA) << refused;
  EXPECT_EQ(refused.text("what"), "sessions") << refused;
  EXPECT_EQ(refused.number("limit"), error.limit()) << refused;
  held.clear();
  EXPECT_TRUE(poll_until([&] {
    return client.call("open", {{"socket", daemon().socket()}}).status == HB_OK;
  }));
  client.leave();
}

class Raised : public HostileTest {
 protected:
  Raised() : HostileTest(limited(64, 4096)) {}
};

TEST_F(Raised, B05_TheDaemonRaisesItsSoftLimitItself) {
  rlimit now{};
  ASSERT_EQ(::prlimit(daemon().pid(), RLIMIT_NOFILE, nullptr, &now), 0);
  EXPECT_EQ(now.rlim_cur, 4096u);
  std::vector<RawPeer> all;
  for (int i = 0; i < 200; ++i) {
    all.push_back(peer_as(kAttacker));
    ASSERT_FALSE(HasFailure()) << i;
  }
  EXPECT_EQ(admin_peer().status().reply.fds_limit(), 4096u);
  EXPECT_EQ(all.front().ping(), HB_OK);
  EXPECT_EQ(daemon().log().find("new connections wait"), std::string::npos);
  all.clear();
}

}  // namespace
}  // namespace hb::test
