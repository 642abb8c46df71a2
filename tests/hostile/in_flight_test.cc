// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Peers that are sent descriptors and do not read them. The kernel lets a user without privileges have no
// more in flight than its RLIMIT_NOFILE, over all its sockets: the daemon keeps below that by itself.
#include <fcntl.h>
#include <sys/socket.h>

#include <array>

#include "support/actor.h"
#include "support/fixture.h"
#include "support/memfd.h"
#include "wire/limits.h"

namespace hb::test {
namespace {

constexpr std::uint32_t kNobody = 65'534;
constexpr std::uint64_t kLimit = 256;
constexpr std::size_t kChunks = 40;

class InFlight : public DaemonTest {
 protected:
  InFlight()
      : DaemonTest([] {
          DaemonOptions options;
          options.process.uid = kNobody;
          options.process.nofile = kLimit;
          return options;
        }()) {}
  void SetUp() override {
    if (may_change_uid()) DaemonTest::SetUp();
  }
  // Sends acquires and reads nothing, until the daemon takes no more.
  static int ask_without_reading(RawPeer& deaf) {
    pb::Acquire body;
    body.mutable_target()->mutable_name()->set_name("many");
    body.mutable_target()->mutable_name()->set_uid(0);
    body.set_access(1);
    body.set_max_handles(kChunks);
    int sent = 0;
    for (int stalled = 0; stalled < 20 && sent < 400;) {
      const std::string frame = encode({FrameType::kAcquire, 0, 0, deaf.next_id()}, body.SerializeAsString());
      if (::send(deaf.fd(), frame.data(), frame.size(), MSG_NOSIGNAL | MSG_DONTWAIT) > 0) {
        ++sent;
        stalled = 0;
      } else {
        ++stalled;
        ::poll(nullptr, 0, 1);
      }
    }
    return sent;
  }
};

TEST_F(InFlight, FourThatNeverReadAndOneThatIsServed) {
  const auto everybody = [] {
    std::vector<pb::AclEntry> readers;
    for (const unsigned uid : {2001u, 2002u}) readers.push_back(acl_uid(uid, 3));
    return readers;
  }();
  RawPeer owner = peer();
  std::vector<UniqueFd> memory;
  for (std::uint64_t i = 0; i < kChunks; ++i) memory.push_back(sealed_memfd(kPage, i));
  ASSERT_EQ(owner.export_fds("many", borrow(memory), kPage, everybody).status, HB_OK);
  RawPeer admin = admin_peer();
  const std::size_t held = daemon().fd_count();

  // Of the test's own uid each, as far as the daemon is concerned: a share for all four of them.
  std::vector<RawPeer> deaf;
  for (int i = 0; i < 4; ++i) deaf.push_back(peer());
  int asked = 0;
  for (RawPeer& one : deaf) asked += ask_without_reading(one);
  EXPECT_GT(asked * kChunks, 10 * kLimit) << "descriptors that would be in flight";
  const pb::StatusReply during = admin.status().reply;
  EXPECT_GT(during.in_flight(), 0u);
  EXPECT_LE(during.in_flight(), during.in_flight_limit());
  EXPECT_LT(during.in_flight_limit(), kLimit);
  EXPECT_GT(during.answers_waiting(), 0u);

  ProcessOptions as_good;
  as_good.uid = 2002;
  Actor good(daemon(), as_good);
  const Message wanted{{"name", "many"}, {"owner", 0}};
  for (int i = 0; i < 30; ++i) {
    good.ok("acquire", wanted);
    good.ok("handle_pattern");
    good.ok("release");
  }
  // They are disconnected once they have not read for limits::kSlowReaderNs. What was sent to them is theirs
  // as long as they keep the socket open, and counts as long; nobody else waits for it.
  EXPECT_TRUE(poll_until([&] { return admin.status().reply.sessions() < 7; }));
  const pb::StatusReply after = admin.status().reply;
  EXPECT_GT(after.in_flight(), 0u);
  EXPECT_GT(after.sockets_unread(), 0u);
  good.ok("acquire", wanted);
  good.ok("handle_pattern");
  good.ok("release");
  good.leave();
  deaf.clear();
  EXPECT_TRUE(poll_until([&] {
    const pb::StatusReply now = admin.status().reply;
    return now.in_flight() == 0 && now.sockets_unread() == 0 && now.answers_waiting() == 0 &&
           now.leases() == 0;
  })) << admin.status().reply.DebugString();
  expect_fds(held, "after the deaf have gone");
  const std::string log = daemon().log();
  EXPECT_EQ(log.find("ETOOMANYREFS"), std::string::npos) << log;
  EXPECT_NE(log.find("did not read its answers"), std::string::npos) << log;
}

// A client that pauses for less than the limit of a slow reader gets every answer, in order.
TEST_F(InFlight, WhoReadsLateGetsEverything) {
  RawPeer owner = peer();
  std::vector<UniqueFd> memory;
  for (std::uint64_t i = 0; i < kChunks; ++i) memory.push_back(sealed_memfd(kPage, i));
  ASSERT_EQ(owner.export_fds("many", borrow(memory)).status, HB_OK);
  memory.clear();
  RawPeer late = peer();
  pb::Acquire body;
  body.mutable_target()->mutable_name()->set_name("many");
  body.set_access(1);
  body.set_max_handles(kChunks);
  std::array<std::uint64_t, 20> ids{};
  for (std::uint64_t& id : ids) id = late.send(FrameType::kAcquire, body);
  RawPeer admin = admin_peer();
  EXPECT_TRUE(poll_until([&] { return admin.status().reply.answers_waiting() == 1; }));
  for (const std::uint64_t id : ids) {
    const auto answer = late.await<pb::AcquireReply>(id);
    ASSERT_EQ(answer.status, HB_OK) << answer.error.message();
    EXPECT_EQ(answer.fds.size(), kChunks);
    EXPECT_EQ(pattern_error(answer.fds[7].get(), 0, kPage, 7), "");
  }
  EXPECT_EQ(late.ping(), HB_OK);
  const auto all_read = [&] { return admin.status().reply.in_flight() == 0; };
  EXPECT_TRUE(poll_until([&] { return late.ping() == HB_OK && all_read(); }))
      << admin.status().reply.DebugString();
  EXPECT_EQ(daemon().log().find("ETOOMANYREFS"), std::string::npos);
}

}  // namespace
}  // namespace hb::test
