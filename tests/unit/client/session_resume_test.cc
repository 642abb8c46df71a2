// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// A daemon that was started again and kept the session: what was under way is asked once more.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <future>
#include <vector>

#include "client.h"
#include "exports.h"
#include "fake_peer.h"
#include "handles.h"
#include "support/memfd.h"
#include "support/wait.h"
#include "wire/limits.h"

namespace hb::test {
namespace {

using client::Late;
using client::Reply;
using client::Result;
using client::Session;

std::uint64_t soon() { return client::after_ns(20'000'000); }

void say_resumed(FakePeer& peer, const pb::Resumed& notice = {}) {
  peer.send({FrameType::kResumed, kFlagEvent, 0, 0}, notice.SerializeAsString());
}

ino_t object_of(const UniqueFd& fd) {
  struct stat st {};
  EXPECT_EQ(::fstat(fd.get(), &st), 0);
  return st.st_ino;
}

void expect_same(const PeerFrame& again, const PeerFrame& first) {
  EXPECT_EQ(static_cast<int>(again.header.type), static_cast<int>(first.header.type));
  EXPECT_EQ(again.header.request_id, first.header.request_id);
  EXPECT_EQ(again.body, first.body);
  ASSERT_EQ(again.fds.size(), first.fds.size());
  for (std::size_t i = 0; i < first.fds.size(); ++i)
    EXPECT_EQ(object_of(again.fds[i]), object_of(first.fds[i]));
}

class ARestart : public testing::Test {
 protected:
  ARestart() : ends_(connected_ends()) {
    auto mark = client::ProcessMark::take();
    session_ = std::make_shared<Session>(std::move(ends_.session), "the test's", *mark);
  }
  FakePeer& peer() { return ends_.peer; }
  std::future<Result<Reply>> call(FrameType type, std::string body = {}, std::vector<int> fds = {},
                                  std::uint64_t deadline_ns = client::kNoDeadline,
                                  Late late = Late::kIgnore) {
    return std::async(std::launch::async,
                      [this, type, body = std::move(body), fds = std::move(fds), deadline_ns, late] {
                        return session_->call(type, client::as_bytes(body), fds, deadline_ns, late);
                      });
  }
  // Whatever is left unread is met by this.
  std::future<Result<Reply>> ping() { return call(FrameType::kPing); }
  // One of this type and the ping, which is answered, whichever comes first.
  PeerFrame beside_ping(FrameType type) {
    PeerFrame wanted = peer().receive();
    if (wanted.header.type != FrameType::kPing) {
      EXPECT_EQ(static_cast<int>(wanted.header.type), static_cast<int>(type));
      peer().reply(peer().expect(FrameType::kPing), pb::PingReply());
      return wanted;
    }
    peer().reply(wanted, pb::PingReply());
    return peer().expect(type);
  }

  Ends ends_;
  std::shared_ptr<Session> session_;
};

TEST_F(ARestart, AsksAgainWhatIsUnansweredAsItWas) {
  const UniqueFd object = sealed_memfd(4096, 1);
  auto list = call(FrameType::kList, "one");
  const PeerFrame first = peer().expect(FrameType::kList);
  auto exported = call(FrameType::kExport, "two", {object.get()});
  const PeerFrame second = peer().expect(FrameType::kExport);
  auto answered = call(FrameType::kShow, "three");
  peer().reply(peer().expect(FrameType::kShow), pb::ShowReply());
  EXPECT_TRUE(answered.get().has_value());
  say_resumed(peer());
  expect_same(peer().expect(FrameType::kList), first);
  expect_same(peer().expect(FrameType::kExport), second);
  EXPECT_EQ(session_->restarts(), 1u);
  // Both came to the daemon: the second answer is dropped, and its descriptor with it.
  peer().reply(second, pb::ExportReply(), {object.get()});
  peer().reply(second, pb::ExportReply(), {object.get()});
  peer().reply(first, pb::ListReply());
  EXPECT_TRUE(exported.get().has_value());
  EXPECT_TRUE(list.get().has_value());
  auto last = ping();
  peer().reply(peer().expect(FrameType::kPing), pb::PingReply());
  EXPECT_TRUE(last.get().has_value());
}

TEST_F(ARestart, MayComeTwiceInARow) {
  auto list = call(FrameType::kList, "one");
  const PeerFrame first = peer().expect(FrameType::kList);
  say_resumed(peer());
  say_resumed(peer());
  expect_same(peer().expect(FrameType::kList), first);
  expect_same(peer().expect(FrameType::kList), first);
  peer().reply(first, pb::ListReply());
  EXPECT_TRUE(list.get().has_value());
  EXPECT_EQ(session_->restarts(), 2u);
}

TEST_F(ARestart, IsReadBeforeTheNextRequestIsAnswered) {
  say_resumed(peer());
  auto last = ping();
  const PeerFrame request = peer().expect(FrameType::kPing);
  // It left before the notice was read: the new daemon gets it twice, and answers it twice.
  expect_same(peer().expect(FrameType::kPing), request);
  peer().reply(request, pb::PingReply());
  peer().reply(request, pb::PingReply());
  EXPECT_TRUE(last.get().has_value());
  // Events are never asked for twice where that can be known.
  say_resumed(peer());
  auto taken = call(FrameType::kTakeEvents);
  peer().reply(peer().expect(FrameType::kTakeEvents), pb::TakeEventsReply());
  EXPECT_TRUE(taken.get().has_value());
  auto after = ping();
  peer().reply(peer().expect(FrameType::kPing), pb::PingReply());
  EXPECT_TRUE(after.get().has_value());
}

TEST_F(ARestart, LosesNoEventsThatWereAskedForTwice) {
  auto taken = call(FrameType::kTakeEvents, {}, {}, client::kNoDeadline, Late::kEvents);
  const PeerFrame request = peer().expect(FrameType::kTakeEvents);
  say_resumed(peer());
  expect_same(peer().expect(FrameType::kTakeEvents), request);
  for (const std::uint64_t exported : {4u, 5u}) {
    pb::TakeEventsReply reply;
    reply.add_events()->set_export_id(exported);
    peer().reply(request, reply);
  }
  EXPECT_TRUE(taken.get().has_value());
  auto next = ping();
  peer().reply(peer().expect(FrameType::kPing), pb::PingReply());
  EXPECT_TRUE(next.get().has_value());
  const auto late = session_->take_late_events();
  ASSERT_EQ(late.size(), 1u);
  EXPECT_EQ(late[0].export_id, 5u);
}

TEST_F(ARestart, AnAcquireThatWasGivenUpIsStillUndone) {
  EXPECT_EQ(call(FrameType::kAcquire, "wanted", {}, soon(), Late::kAcquire).get().error().status, HB_TIMEOUT);
  const PeerFrame acquire = peer().expect(FrameType::kAcquire);
  peer().expect(FrameType::kCancel);
  // Of one that obtained nothing nobody waits for the answer any more.
  EXPECT_EQ(call(FrameType::kList, "x", {}, soon()).get().error().status, HB_TIMEOUT);
  peer().expect(FrameType::kList);
  say_resumed(peer());
  auto last = ping();
  expect_same(peer().expect(FrameType::kAcquire), acquire);
  pb::Cancel cancel;
  ASSERT_TRUE(cancel.ParseFromString(peer().expect(FrameType::kCancel).body));
  EXPECT_EQ(cancel.request_id(), acquire.header.request_id);
  const UniqueFd object = sealed_memfd(4096, 1);
  peer().reply(acquire, one_chunk_grant(99, 4096), {object.get()});
  pb::Release released;
  ASSERT_TRUE(released.ParseFromString(beside_ping(FrameType::kRelease).body));
  EXPECT_EQ(released.lease_id(), 99u);
  EXPECT_TRUE(last.get().has_value());
}

TEST_F(ARestart, AnExportThatWasGivenUpGoesAgainWithItsDescriptors) {
  PeerFrame first;
  {
    const UniqueFd object = sealed_memfd(4096, 1);
    EXPECT_EQ(call(FrameType::kExport, "new", {object.get(), object.get()}, soon(), Late::kExport)
                  .get()
                  .error()
                  .status,
              HB_TIMEOUT);
    first = peer().expect(FrameType::kExport);
  }  // the program has closed its own
  say_resumed(peer());
  auto last = ping();
  expect_same(peer().expect(FrameType::kExport), first);
  pb::ExportReply reply;
  reply.set_export_id(5);
  reply.set_complete(true);
  peer().reply(first, reply);
  pb::Withdraw withdrawn;
  ASSERT_TRUE(withdrawn.ParseFromString(beside_ping(FrameType::kWithdraw).body));
  EXPECT_EQ(withdrawn.target().export_id(), 5u);
  EXPECT_TRUE(last.get().has_value());
}

TEST_F(ARestart, GoesOnWhenTheSocketIsFull) {
  constexpr std::size_t kThreads = 12;  // of nearly the longest frame: more than a socket holds
  const std::string body(60'000, 'b');
  std::vector<std::future<Result<Reply>>> calls;
  std::vector<PeerFrame> first;
  for (std::size_t i = 0; i < kThreads; ++i) {
    calls.push_back(call(FrameType::kList, body));
    first.push_back(peer().expect(FrameType::kList));
  }
  say_resumed(peer());
  const PeerFrame begun = peer().expect(FrameType::kList);  // it is being sent again
  expect_same(begun, first[0]);
  // Who has no time is not held up by what the others have under way, and one-way frames wait behind it.
  EXPECT_EQ(session_->call(FrameType::kShow, {}, {}, soon()).error().status, HB_TIMEOUT);
  session_->release(123);
  for (std::size_t i = 1; i < kThreads; ++i) expect_same(peer().expect(FrameType::kList), first[i]);
  for (const PeerFrame& request : first) peer().reply(request, pb::ListReply());
  for (auto& answered : calls) EXPECT_TRUE(answered.get().has_value());
  auto last = ping();
  PeerFrame next = peer().receive();
  if (next.header.type == FrameType::kShow) next = peer().receive();  // it left before its time was up
  EXPECT_EQ(static_cast<int>(next.header.type), static_cast<int>(FrameType::kRelease));
  peer().reply(peer().expect(FrameType::kPing), pb::PingReply());
  EXPECT_TRUE(last.get().has_value());
}

TEST_F(ARestart, TellsWhichExportsAreAwaited) {
  EXPECT_FALSE(session_->has_awaited());
  pb::Resumed notice;
  notice.add_awaited(7);
  notice.add_awaited(9);
  say_resumed(peer(), notice);
  auto last = call(FrameType::kTakeEvents);
  peer().reply(peer().expect(FrameType::kTakeEvents), pb::TakeEventsReply());
  EXPECT_TRUE(last.get().has_value());
  ASSERT_TRUE(session_->has_awaited());
  const Session::Awaited awaited = session_->take_awaited();
  EXPECT_EQ(awaited.exports, (std::vector<std::uint64_t>{7, 9}));
  EXPECT_FALSE(awaited.more);
  EXPECT_FALSE(session_->has_awaited());
}

TEST_F(ARestart, ANoticeThatCannotBeReadEndsTheSession) {
  auto list = call(FrameType::kList);
  peer().expect(FrameType::kList);
  peer().send({FrameType::kResumed, kFlagEvent, 0, 0}, "\xff\xff");
  const auto result = list.get();
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().status, HB_CLOSED);
  EXPECT_NE(result.error().message.find("Resumed"), std::string::npos) << result.error().message;
}

// ---- between the pages of one call -------------------------------------------------------------

class ARestartBetweenPages : public testing::Test {
 protected:
  ARestartBetweenPages() : ends_(connected_ends()) {
    auto mark = client::ProcessMark::take();
    auto opened = std::async(std::launch::async, [&] {
      return Session::open({std::move(ends_.session), "the test's"}, *mark, client::kNoDeadline);
    });
    ends_.peer.answer_hello();
    client_ = std::make_shared<client::Client>(client::ClientOptions{}, *mark, *opened.get());
  }
  FakePeer& peer() { return ends_.peer; }

  Ends ends_;
  std::shared_ptr<client::Client> client_;
};

TEST_F(ARestartBetweenPages, AnAcquireGetsAllOfThem) {
  client::AcquireRequest request;
  request.target.name = "x";
  request.access = HB_ACCESS_READ;
  request.bytes = HB_WHOLE;
  request.deadline_ns = client::kNoDeadline;
  auto acquired = std::async(std::launch::async, [&] { return client::acquire_handles(client_, request); });
  peer().answer_share_page(2);
  const UniqueFd object = sealed_memfd(4096, 1);
  pb::AcquireReply grant = one_chunk_grant(4, 3 * 4096);
  grant.set_chunk_count(3);
  grant.mutable_chunks(0)->set_size(4096);
  const PeerFrame acquire = peer().expect(FrameType::kAcquire);
  say_resumed(peer());
  expect_same(peer().expect(FrameType::kAcquire), acquire);
  peer().reply(acquire, grant, {object.get()});
  peer().reply(acquire, grant, {object.get()});
  for (std::uint64_t number = 1; number < 3; ++number) {
    const PeerFrame fetch = peer().expect(FrameType::kFetch);
    say_resumed(peer());
    expect_same(peer().expect(FrameType::kFetch), fetch);
    pb::FetchReply page;
    page.set_first(number);
    page.add_chunks()->set_handle(1);
    page.mutable_chunks(0)->set_size(4096);
    peer().reply(fetch, page, {object.get()});
    peer().reply(fetch, page, {object.get()});
  }
  const auto handles = acquired.get();
  ASSERT_TRUE(handles) << handles.error().message;
  EXPECT_EQ((*handles)->fds.size(), 3u);
  delete *handles;
  EXPECT_EQ(client_->stats().fetched_fds, 3u);
}

TEST_F(ARestartBetweenPages, AnExportSendsAllOfThem) {
  const UniqueFd object = sealed_memfd(4096, 1);
  const std::vector<hb_chunk> chunks(limits::kPageChunks + 1, {object.get(), 0, 4096});
  client::ExportRequest request;
  request.chunks = chunks;
  request.deadline_ns = client::kNoDeadline;
  auto made = std::async(std::launch::async, [&] { return client::create_export(*client_, request); });
  const auto answer = [&](FrameType type, const pb::ExportReply& reply) {
    const PeerFrame page = peer().expect(type);
    say_resumed(peer());
    expect_same(peer().expect(type), page);
    EXPECT_EQ(page.fds.size(), 1u);
    peer().reply(page, reply);
  };
  pb::ExportReply reply;
  reply.set_export_id(3);
  reply.set_received_chunks(limits::kPageChunks);
  answer(FrameType::kExport, reply);
  reply.set_complete(true);
  reply.set_generation(1);
  reply.set_key(std::string(64, '\1'));
  reply.set_secret(std::string(16, 's'));
  answer(FrameType::kExportChunks, reply);
  const auto record = made.get();
  ASSERT_TRUE(record) << record.error().message;
  EXPECT_EQ((*record)->id, 3u);
}

}  // namespace
}  // namespace hb::test
