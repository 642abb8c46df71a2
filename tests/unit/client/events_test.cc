// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Events over the boundary, from a daemon that does what the test says.
#include "hipbroker/events.hpp"

#include <gmock/gmock.h>
#include <sys/socket.h>

#include <array>
#include <future>
#include <optional>
#include <string>
#include <vector>

#include "fake_peer.h"
#include "support/memfd.h"
#include "support/temp_dir.h"
#include "support/wait.h"

namespace hb::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class AListener : public testing::Test {
 protected:
  AListener() : path_(dir_ / "broker.sock") {
    listener_.emplace(path_);
    auto opened = std::async(std::launch::async, [&] { client_.emplace(path_); });
    peer_.emplace(listener_->accept());
    peer_->answer_hello();
    opened.get();
  }

  void answer_subscription() {
    std::array<int, 2> ends{};
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()), 0);
    bell_ = UniqueFd(ends[0]);
    const UniqueFd heard(ends[1]);
    peer_->reply(peer_->expect(FrameType::kSubscribe), pb::SubscribeReply(), {heard.get()});
  }
  void answer_take(const std::vector<pb::Event>& events, bool more = false) {
    pb::TakeEventsReply reply;
    for (const pb::Event& event : events) *reply.add_events() = event;
    reply.set_more(more);
    peer_->reply(peer_->expect(FrameType::kTakeEvents), reply);
  }
  void ring() const { ASSERT_EQ(::send(bell_.get(), "x", 1, MSG_NOSIGNAL), 1); }
  static pb::Event event(pb::Event::Kind kind, std::uint64_t lease, std::uint64_t version = 1) {
    pb::Event out;
    out.set_kind(kind);
    out.set_lease_id(lease);
    out.set_export_id(42);
    out.set_layout_version(version);
    return out;
  }
  // Subscribed, and the first look for what came before is done.
  void subscribe() {
    auto made = std::async(std::launch::async, [&] { return hipbroker::events_fd(*client_); });
    answer_subscription();
    fd_ = made.get();
    auto looked = dispatch();
    answer_take({});
    EXPECT_EQ(looked.get(), 0u);
  }
  std::future<std::uint64_t> dispatch() {
    return std::async(std::launch::async, [this] {
      return hipbroker::dispatch_events(*client_, [this](const hb_event& event) {
        heard_.push_back(std::string(hb_event_name(event.kind)) +
                         (event.imported != nullptr ? " import " : " ") +
                         std::to_string(event.layout_version));
        if (on_event_) on_event_(event);
      });
    });
  }
  [[nodiscard]] bool readable(std::uint64_t limit_ns = 0) const { return wait_readable(fd_, limit_ns); }
  hipbroker::Import import_page(std::uint64_t lease) {
    const UniqueFd object = sealed_memfd(kPage, 5);
    auto importing = std::async(std::launch::async, [&] { return client_->import("x"); });
    peer_->answer_share_page(1);
    peer_->reply(peer_->expect(FrameType::kAcquire), one_chunk_grant(lease, kPage), {object.get()});
    return importing.get();
  }

  TempDir dir_;
  std::string path_;
  std::optional<FakeListener> listener_;
  std::optional<FakePeer> peer_;
  std::optional<hipbroker::Client> client_;
  UniqueFd bell_;
  int fd_ = -1;
  std::vector<std::string> heard_;
  std::function<void(const hb_event&)> on_event_;
};

TEST_F(AListener, NothingToTellAsksNobody) {
  subscribe();
  EXPECT_FALSE(readable());
  EXPECT_EQ(dispatch().get(), 0u);  // a question would wait for an answer here
  EXPECT_EQ(hipbroker::events_fd(*client_), fd_);
}

TEST_F(AListener, EventsComeInOrderAndOverAllPages) {
  subscribe();
  const hipbroker::Import imported = import_page(4);
  ring();
  EXPECT_TRUE(readable(kWatchdogNs));
  auto told = dispatch();
  answer_take({event(pb::Event::GROWN, 4, 2), event(pb::Event::WITHDRAWN, 99, 9)}, true);
  answer_take({event(pb::Event::WITHDRAWN, 4, 3)});
  EXPECT_EQ(told.get(), 2u) << "99 is nobody's";
  EXPECT_THAT(heard_, ElementsAre("grown import 2", "withdrawn import 3"));
  EXPECT_FALSE(readable());
}

TEST_F(AListener, AnImportIsAliveInItsHandlerAndGoneForTheNext) {
  subscribe();
  std::optional<hipbroker::Import> imported = import_page(4);
  on_event_ = [&](const hb_event& event) {
    EXPECT_EQ(event.imported, imported->get());
    imported.reset();
    hb_import_info info = HB_IMPORT_INFO_INIT;
    hb_import_get_info(event.imported, &info);
    EXPECT_EQ(pattern_error(info.ptr, kPage, 5), "");
  };
  ring();
  auto told = dispatch();
  answer_take({event(pb::Event::GROWN, 4, 2), event(pb::Event::WITHDRAWN, 4, 3)});
  EXPECT_EQ(told.get(), 1u);
  EXPECT_THAT(heard_, ElementsAre("grown import 2"));
  peer_->expect(FrameType::kRelease);
  EXPECT_EQ(client_->stats().mapped_bytes, 0u);
}

// The event overtakes the second page of the import.
TEST_F(AListener, AnEventOfAnImportThatIsStillMappedIsKept) {
  subscribe();
  const UniqueFd first = sealed_memfd(kPage, 5);
  const UniqueFd second = sealed_memfd(kPage, 6);
  auto importing = std::async(std::launch::async, [&] { return client_->import("x"); });
  peer_->answer_share_page(1);
  pb::AcquireReply grant = one_chunk_grant(4, kPage);
  grant.set_length(2 * kPage);
  grant.set_export_size(2 * kPage);
  grant.set_chunk_count(2);
  peer_->reply(peer_->expect(FrameType::kAcquire), grant, {first.get()});
  const PeerFrame fetch = peer_->expect(FrameType::kFetch);
  ring();
  auto told = dispatch();
  answer_take({event(pb::Event::WITHDRAWN, 4, 3)});
  EXPECT_EQ(told.get(), 0u);
  EXPECT_FALSE(readable());
  pb::FetchReply page;
  page.set_first(1);
  pb::Chunk* chunk = page.add_chunks();
  chunk->set_handle(1);
  chunk->set_size(kPage);
  peer_->reply(fetch, page, {second.get()});
  const hipbroker::Import imported = importing.get();
  EXPECT_TRUE(readable(kWatchdogNs));
  EXPECT_EQ(dispatch().get(), 1u);
  EXPECT_THAT(heard_, ElementsAre("withdrawn import 3"));
  EXPECT_FALSE(readable());
}

TEST_F(AListener, DescriptorsWithoutAMappingAreToldWithoutAnImport) {
  subscribe();
  const UniqueFd object = sealed_memfd(kPage, 5);
  auto acquiring = std::async(std::launch::async, [&] { return client_->acquire("x"); });
  peer_->answer_share_page(1);
  peer_->reply(peer_->expect(FrameType::kAcquire), one_chunk_grant(4, kPage), {object.get()});
  const hipbroker::Handles handles = acquiring.get();
  ring();
  auto told = dispatch();
  answer_take({event(pb::Event::REVOKED, 4)});
  EXPECT_EQ(told.get(), 1u);
  EXPECT_THAT(heard_, ElementsAre("revoked 1"));
}

TEST_F(AListener, AHandlerDoesNotDispatch) {
  subscribe();
  hb_status inside = HB_OK;
  on_event_ = [&](const hb_event&) {
    inside = hb_events_dispatch(
        client_->get(), [](const hb_event*, void*) {}, nullptr, nullptr, nullptr);
    EXPECT_EQ(hipbroker::events_fd(*client_), fd_);
  };
  ring();
  auto told = dispatch();
  answer_take({event(pb::Event::REVOKED, 0)});
  EXPECT_EQ(told.get(), 1u);
  EXPECT_EQ(inside, HB_BUSY);
}

TEST_F(AListener, AHandlerMayCloseTheClient) {
  subscribe();
  on_event_ = [&](const hb_event&) { client_.reset(); };
  ring();
  auto told = dispatch();
  answer_take({event(pb::Event::REVOKED, 0, 1), event(pb::Event::REVOKED, 0, 2)}, true);
  EXPECT_EQ(told.get(), 1u);
  EXPECT_TRUE(peer_->receive().ended);
}

TEST_F(AListener, WhatTheHandlerThrowsComesOut) {
  subscribe();
  on_event_ = [&](const hb_event&) { throw std::string("mine"); };
  ring();
  auto told = dispatch();
  answer_take({event(pb::Event::REVOKED, 0, 1), event(pb::Event::REVOKED, 0, 2)});
  EXPECT_THROW(told.get(), std::string);
  EXPECT_EQ(heard_.size(), 1u);
}

TEST_F(AListener, ALostDaemonIsToldAndTheNextOneFound) {
  subscribe();
  const hipbroker::Import imported = import_page(4);
  peer_.reset();
  listener_.reset();
  bell_.reset();
  ::unlink(path_.c_str());
  EXPECT_TRUE(readable(kWatchdogNs));
  EXPECT_EQ(dispatch().get(), 1u);
  EXPECT_THAT(heard_, ElementsAre("session-lost 0"));
  EXPECT_FALSE(imported.is_current());
  EXPECT_EQ(pattern_error(imported.data(), kPage, 5), "");
  // It becomes readable again and again, and looks.
  EXPECT_TRUE(readable(kWatchdogNs));
  EXPECT_EQ(dispatch().get(), 0u);
  listener_.emplace(path_);
  std::uint64_t told = 0;
  while (told == 0 && readable(kWatchdogNs)) {
    auto dispatching = dispatch();
    ASSERT_TRUE(poll_until([&] {
      return dispatching.wait_for(std::chrono::seconds(0)) == std::future_status::ready ||
             listener_->has_connection();
    }));
    if (listener_->has_connection()) {
      peer_.emplace(listener_->accept());
      peer_->answer_hello();
      answer_subscription();
      answer_take({});
    }
    told = dispatching.get();
  }
  EXPECT_THAT(heard_, ElementsAre("session-lost 0", "session-new 0"));
  EXPECT_EQ(hipbroker::events_fd(*client_), fd_) << "the number stays";
  EXPECT_FALSE(readable());
  ring();
  EXPECT_TRUE(readable(kWatchdogNs));
}

TEST_F(AListener, ALoopIsStoppedFromAnywhere) {
  hipbroker::stop_dispatch(*client_);
  hipbroker::dispatch_loop(*client_, [](const hb_event&) {});  // stopped before it began
  auto looping =
      std::async(std::launch::async, [&] { hipbroker::dispatch_loop(*client_, [](const hb_event&) {}); });
  answer_subscription();
  answer_take({});
  hipbroker::stop_dispatch(*client_);
  looping.get();
  EXPECT_EQ(dispatch().get(), 0u);
  EXPECT_FALSE(wait_readable(hipbroker::events_fd(*client_), 0)) << "the stop is not left over";
}

TEST_F(AListener, AnOlderDaemonIsUnsupported) {
  auto made = std::async(std::launch::async, [&] {
    int fd = -1;
    return hb_events_fd(client_->get(), &fd, nullptr);
  });
  pb::Error error;
  error.set_status(HB_UNSUPPORTED);
  peer_->refuse(peer_->expect(FrameType::kSubscribe), error);
  EXPECT_EQ(made.get(), HB_UNSUPPORTED);
}

TEST_F(AListener, RevokeNamesWhoIsLeft) {
  auto revoking = std::async(std::launch::async,
                             [&] { return hipbroker::revoke(*client_, "kv", std::chrono::seconds(3)); });
  const PeerFrame frame = peer_->expect(FrameType::kRevoke);
  pb::Revoke asked;
  ASSERT_TRUE(asked.ParseFromString(frame.body));
  EXPECT_EQ(asked.target().name().name(), "kv");
  EXPECT_EQ(asked.grace_ns(), 3'000'000'000u);
  pb::WithdrawReply reply;
  reply.set_withdrawn(1);
  reply.set_holder_count(1);
  pb::Holder* holder = reply.add_holders();
  holder->set_state(7);
  holder->set_listens(true);
  holder->set_unread_ns(5);
  holder->mutable_process()->set_pid(812);
  holder->mutable_process()->set_command("lmcache");
  peer_->reply(frame, reply);
  const hipbroker::TakenBack taken = revoking.get();
  EXPECT_EQ(taken.withdrawn.exports, 1u);
  ASSERT_EQ(taken.left.size(), 1u);
  EXPECT_EQ(taken.left[0].process.pid, 812u);
  EXPECT_STREQ(taken.left[0].process.command, "lmcache");
  EXPECT_STREQ(taken.left[0].state, "revoked");
  EXPECT_EQ(taken.left[0].unread_ns, 5u);
  EXPECT_EQ(taken.left[0].listens, 1);
}

// More than an answer holds: the daemon is asked for all.
TEST_F(AListener, RevokeAsksForTheHoldersThatTheAnswerHadNoRoomFor) {
  auto revoking =
      std::async(std::launch::async, [&] { return hipbroker::revoke(*client_, std::uint64_t{42}); });
  pb::WithdrawReply reply;
  reply.set_holder_count(3);
  reply.set_more_holders(true);
  reply.add_holders()->set_export_id(42);
  peer_->reply(peer_->expect(FrameType::kRevoke), reply);
  const PeerFrame frame = peer_->expect(FrameType::kWho);
  pb::Who asked;
  ASSERT_TRUE(asked.ParseFromString(frame.body));
  EXPECT_EQ(asked.target().export_id(), 42u);
  pb::WhoReply all;
  for (int i = 0; i < 3; ++i) all.add_holders()->set_lease_id(static_cast<std::uint64_t>(i) + 1);
  peer_->reply(frame, all);
  EXPECT_EQ(revoking.get().left.size(), 3u);
}

}  // namespace
}  // namespace hb::test
