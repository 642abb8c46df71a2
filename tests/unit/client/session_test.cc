// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "session.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <future>

#include "fake_peer.h"
#include "support/memfd.h"
#include "support/wait.h"

namespace hb::test {
namespace {

using client::Late;
using client::Reply;
using client::Result;
using client::Session;

class ASession : public testing::Test {
 protected:
  ASession() : ends_(connected_ends()) {
    auto mark = client::ProcessMark::take();
    session_ = std::make_shared<Session>(std::move(ends_.session), "the test's", *mark);
  }
  FakePeer& peer() { return ends_.peer; }
  std::future<Result<Reply>> call(FrameType type, std::uint64_t deadline_ns = client::kNoDeadline,
                                  Late late = Late::kIgnore) {
    return std::async(std::launch::async, [this, type, deadline_ns, late] {
      return session_->call(type, {}, {}, deadline_ns, late);
    });
  }

  Ends ends_;
  std::shared_ptr<Session> session_;
};

std::uint64_t soon() { return client::after_ns(20'000'000); }

TEST_F(ASession, GivesEachCallItsOwnAnswerWhateverTheirOrder) {
  for (const bool reversed : {false, true}) {
    auto ping = call(FrameType::kPing);
    const PeerFrame first = peer().expect(FrameType::kPing);
    auto list = call(FrameType::kList);
    const PeerFrame second = peer().expect(FrameType::kList);
    EXPECT_LT(first.header.request_id, second.header.request_id);
    pb::PingReply pong;
    pong.set_uptime_ns(11);
    pb::ListReply listing;
    listing.set_next_cursor(22);
    // The first caller reads for both. Once it has its own answer the second must read for itself.
    if (reversed) {
      peer().reply(second, listing);
      EXPECT_EQ(list.get()->body.size(), listing.ByteSizeLong());
      peer().reply(first, pong);
      EXPECT_EQ(ping.get()->body.size(), pong.ByteSizeLong());
    } else {
      peer().reply(first, pong);
      EXPECT_EQ(ping.get()->body.size(), pong.ByteSizeLong());
      peer().reply(second, listing);
      EXPECT_EQ(list.get()->body.size(), listing.ByteSizeLong());
    }
  }
}

TEST_F(ASession, KeepsReadingForOthersWhenTheReaderGivesUp) {
  auto reader = call(FrameType::kPing, client::after_ns(50'000'000));
  peer().expect(FrameType::kPing);
  auto other = call(FrameType::kList);
  const PeerFrame request = peer().expect(FrameType::kList);
  EXPECT_EQ(reader.get().error().status, HB_TIMEOUT);
  peer().reply(request, pb::ListReply());
  EXPECT_TRUE(other.get().has_value());
}

TEST_F(ASession, PassesOnEveryFieldOfAnError) {
  auto call_result = call(FrameType::kExport);
  pb::Error error;
  error.set_status(HB_QUOTA);
  error.set_message("too many");
  error.set_what("exports");
  error.set_used(4);
  error.set_limit(5);
  error.set_who("uid 9");
  error.set_sys_errno(24);
  error.set_operation("open");
  error.set_chunk(3);
  peer().refuse(peer().expect(FrameType::kExport), error);
  const auto result = call_result.get();
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().status, HB_QUOTA);
  EXPECT_EQ(result.error().message, "too many");
  EXPECT_EQ(result.error().what, "exports");
  EXPECT_EQ(result.error().used, 4u);
  EXPECT_EQ(result.error().limit, 5u);
  EXPECT_EQ(result.error().who, "uid 9");
  EXPECT_EQ(result.error().sys_errno, 24);
  EXPECT_EQ(result.error().operation, "open");
  EXPECT_EQ(result.error().chunk, 2);
}

TEST_F(ASession, GivesBackALeaseThatCameTooLate) {
  EXPECT_EQ(session_->call(FrameType::kAcquire, {}, {}, soon(), Late::kAcquire).error().status, HB_TIMEOUT);
  const PeerFrame acquire = peer().expect(FrameType::kAcquire);
  const PeerFrame cancel = peer().expect(FrameType::kCancel);
  pb::Cancel canceled;
  ASSERT_TRUE(canceled.ParseFromString(cancel.body));
  EXPECT_EQ(canceled.request_id(), acquire.header.request_id);
  EXPECT_EQ(cancel.header.request_id, 0u);
  const UniqueFd object = sealed_memfd(4096, 1);
  peer().reply(acquire, one_chunk_grant(99, 4096), {object.get()});  // the census sees a descriptor kept
  // The next call meets the late answer first.
  auto ping = call(FrameType::kPing);
  const PeerFrame release = peer().expect(FrameType::kRelease);
  pb::Release released;
  ASSERT_TRUE(released.ParseFromString(release.body));
  EXPECT_EQ(released.lease_id(), 99u);
  peer().reply(peer().expect(FrameType::kPing), pb::PingReply());
  EXPECT_TRUE(ping.get().has_value());
}

TEST_F(ASession, TakesBackAnExportThatCameTooLate) {
  for (const bool complete : {true, false}) {
    EXPECT_EQ(session_->call(FrameType::kExport, {}, {}, soon(), Late::kExport).error().status, HB_TIMEOUT);
    pb::ExportReply reply;
    reply.set_export_id(5);
    reply.set_complete(complete);
    peer().reply(peer().expect(FrameType::kExport), reply);
    auto ping = call(FrameType::kPing);
    const PeerFrame undo = peer().expect(complete ? FrameType::kWithdraw : FrameType::kExportAbort);
    EXPECT_EQ(undo.header.request_id != 0, complete);
    peer().reply(peer().expect(FrameType::kPing), pb::PingReply());
    EXPECT_TRUE(ping.get().has_value());
  }
}

TEST_F(ASession, LeavesAGroupThatWasJoinedTooLate) {
  EXPECT_EQ(session_->call(FrameType::kJoin, {}, {}, soon(), Late::kJoin).error().status, HB_TIMEOUT);
  const PeerFrame join = peer().expect(FrameType::kJoin);
  peer().expect(FrameType::kCancel);
  pb::JoinReply reply;
  reply.set_group_id(7);
  reply.add_members()->mutable_grant()->set_lease_id(98);
  reply.add_members()->set_rank(1);
  reply.add_members()->mutable_grant()->set_lease_id(99);
  const UniqueFd object = sealed_memfd(4096, 1);
  peer().reply(join, reply, {object.get()});
  auto ping = call(FrameType::kPing);
  pb::Leave left;
  ASSERT_TRUE(left.ParseFromString(peer().expect(FrameType::kLeave).body));
  EXPECT_EQ(left.group_id(), 7u);
  for (const std::uint64_t lease : {98u, 99u}) {
    pb::Release released;
    ASSERT_TRUE(released.ParseFromString(peer().expect(FrameType::kRelease).body));
    EXPECT_EQ(released.lease_id(), lease);
  }
  peer().reply(peer().expect(FrameType::kPing), pb::PingReply());
  EXPECT_TRUE(ping.get().has_value());
}

TEST_F(ASession, ClosesPendingCallsWhenTheDaemonGoes) {
  auto one = call(FrameType::kPing);
  auto two = call(FrameType::kList);
  peer().receive();
  peer().receive();
  peer().hang_up();
  for (auto* pending : {&one, &two}) {
    const auto result = pending->get();
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().status, HB_CLOSED);
    EXPECT_FALSE(result.error().not_sent);  // it may have been carried out
  }
  EXPECT_TRUE(session_->is_lost());
  const auto next = session_->call(FrameType::kPing, {}, {}, client::kNoDeadline);
  EXPECT_TRUE(next.error().not_sent);
}

TEST_F(ASession, FindsADeadDaemonBeforeTheRequestLeaves) {
  peer().hang_up();
  const auto result = session_->call(FrameType::kPing, {}, {}, client::kNoDeadline);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().status, HB_CLOSED);
  EXPECT_TRUE(result.error().not_sent);
}

TEST_F(ASession, EndsWhenTheAnnouncedDescriptorsDoNotCome) {
  auto ping = call(FrameType::kPing);
  const PeerFrame request = peer().expect(FrameType::kPing);
  peer().send({FrameType::kPing, kFlagReply, 2, request.header.request_id}, "");
  EXPECT_EQ(ping.get().error().status, HB_CLOSED);
}

TEST_F(ASession, EndsOnGarbage) {
  auto ping = call(FrameType::kPing);
  peer().expect(FrameType::kPing);
  ASSERT_EQ(::send(peer().fd(), "rubbish", 7, MSG_NOSIGNAL), 7);
  const auto result = ping.get();
  EXPECT_EQ(result.error().status, HB_CLOSED);
  EXPECT_NE(result.error().message.find("cannot be read"), std::string::npos);
}

TEST_F(ASession, WaitsForRoomOnlyUntilItsDeadline) {
  // Until the peer's queue is full.
  std::size_t answered = 0;
  for (;;) {
    const auto result = session_->call(FrameType::kPing, {}, {}, 0);
    ASSERT_EQ(result.error().status, HB_TIMEOUT);
    if (result.error().message.find("take") != std::string::npos) break;
    ASSERT_LT(++answered, 100'000u);
  }
  EXPECT_EQ(session_->call(FrameType::kPing, {}, {}, soon()).error().status, HB_TIMEOUT);
  // One-way frames never wait; they leave once there is room.
  session_->release(123);
  for (std::size_t i = 0; i < answered; ++i) peer().expect(FrameType::kPing);
  auto list = call(FrameType::kList);
  peer().expect(FrameType::kRelease);
  peer().reply(peer().expect(FrameType::kList), pb::ListReply());
  EXPECT_TRUE(list.get().has_value());
}

TEST_F(ASession, LetsOneThreadAfterAnotherAcquire) {
  auto turn = session_->page_turn(client::kNoDeadline);
  ASSERT_TRUE(turn);
  EXPECT_EQ(session_->page_turn(soon()).error().status, HB_TIMEOUT);
  auto waiting =
      std::async(std::launch::async, [&] { return session_->page_turn(client::kNoDeadline).has_value(); });
  { const Session::PageTurn given_back = std::move(*turn); }
  EXPECT_TRUE(waiting.get());
}

void ignore(int) {}

TEST_F(ASession, DoesNotMindAThousandSignalsASecond) {
  struct sigaction old {};
  struct sigaction action {};
  action.sa_handler = ignore;  // without SA_RESTART: every blocking call meets EINTR
  ASSERT_EQ(::sigaction(SIGALRM, &action, &old), 0);
  const itimerval every_ms{{0, 1000}, {0, 1000}};
  ASSERT_EQ(::setitimer(ITIMER_REAL, &every_ms, nullptr), 0);
  std::thread daemon([&] {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, nullptr);  // the signals are the caller's
    for (int i = 0; i < 100; ++i) {
      const PeerFrame request = peer().receive();
      ::poll(nullptr, 0, 3);  // long enough that the caller is interrupted while it waits
      peer().reply(request, pb::PingReply());
    }
  });
  for (int i = 0; i < 100; ++i) {
    const auto result = session_->call(FrameType::kPing, {}, {}, client::after_ns(kWatchdogNs));
    EXPECT_TRUE(result.has_value()) << result.error().message;
  }
  daemon.join();
  const itimerval off{};
  ASSERT_EQ(::setitimer(ITIMER_REAL, &off, nullptr), 0);
  ASSERT_EQ(::sigaction(SIGALRM, &old, nullptr), 0);
}

TEST(TheHello, NamesBothVersionRanges) {
  Ends ends = connected_ends();
  auto mark = client::ProcessMark::take();
  auto opened = std::async(std::launch::async, [&] {
    return Session::open({std::move(ends.session), "the test's"}, *mark, client::kNoDeadline);
  });
  const PeerFrame hello = ends.peer.expect(FrameType::kHello);
  pb::HelloReply reply;
  reply.set_version(9);
  reply.set_broker_id(std::string(16, 'b'));
  ends.peer.reply(hello, reply);
  const auto session = opened.get();
  ASSERT_FALSE(session);
  EXPECT_EQ(session.error().status, HB_VERSION);
  EXPECT_NE(session.error().message.find('9'), std::string::npos);
}

}  // namespace
}  // namespace hb::test
