// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Imports that were held when their session was lost.
#include <chrono>
#include <thread>

#include "away_daemon.h"

namespace hb::test {
namespace {

class AReattach : public AwayDaemon {
 protected:
  AReattach() : object_(sealed_memfd(2 * kPage, 5)) {
    auto importing = std::async(std::launch::async, [&] { return client_->import("x"); });
    peer_->answer_share_page(2);
    peer_->reply(peer_->expect(FrameType::kAcquire), grant(4, 1), {object_.get()});
    imported_ = importing.get();
  }
  static pb::AcquireReply grant(std::uint64_t lease, std::uint64_t version, std::uint64_t pages = 1) {
    pb::AcquireReply grant = one_chunk_grant(lease, pages * kPage);
    grant.set_validity_value(2);
    grant.set_layout_version(version);
    return grant;
  }
  static pb::AcquireReply without_page(pb::AcquireReply grant) {
    grant.clear_chunks();
    return grant;
  }
  // A new daemon is asked for the lease, by the export's own key and without descriptors.
  PeerFrame expect_acquire() {
    PeerFrame frame = peer_->expect(FrameType::kAcquire);
    pb::Acquire acquire;
    EXPECT_TRUE(acquire.ParseFromString(frame.body));
    EXPECT_EQ(acquire.max_handles(), 0u);
    EXPECT_EQ(acquire.wait_ns(), 0u);
    EXPECT_EQ(acquire.target().key(), key_of(42, kPage));
    EXPECT_EQ(acquire.access(), 1u);
    return frame;
  }
  void expect_untouched() const { EXPECT_EQ(pattern_error(imported_.data(), kPage, 5), ""); }

  UniqueFd object_;
  hipbroker::Import imported_;
};

TEST_F(AReattach, MakesWhatIsMappedCurrentAgain) {
  EXPECT_TRUE(imported_.is_current());
  const void* const at = imported_.data();
  lose();
  EXPECT_EQ(start([&] { client_->ping(std::chrono::milliseconds(10)); }).get().status, HB_NO_DAEMON);
  EXPECT_FALSE(imported_.is_current());
  come_back();
  auto pinged = ping();
  greet();
  peer_->answer_share_page(2);
  // A daemon that sends a page all the same: it is not needed.
  peer_->reply(expect_acquire(), grant(9, 1), {object_.get()});
  answer_ping();
  EXPECT_EQ(pinged.get().status, HB_OK);
  EXPECT_TRUE(imported_.is_current());
  EXPECT_EQ(imported_.data(), at);
  expect_untouched();
  // Found again by who opens the same, and given back as the new session's.
  EXPECT_EQ(client_->import("x").data(), at);
  imported_ = hipbroker::Import();
  pb::Release released;
  ASSERT_TRUE(released.ParseFromString(peer_->expect(FrameType::kRelease).body));
  EXPECT_EQ(released.lease_id(), 9u);
}

TEST_F(AReattach, SurvivesASecondLoss) {
  for (int loss = 0; loss < 2; ++loss) {
    lose_and_come_back();
    auto pinged = ping();
    greet();
    peer_->answer_share_page(2);
    peer_->reply(expect_acquire(), without_page(grant(20 + static_cast<std::uint64_t>(loss), 1)));
    answer_ping();
    EXPECT_EQ(pinged.get().status, HB_OK);
    EXPECT_TRUE(imported_.is_current());
  }
}

TEST_F(AReattach, OfAnotherLayoutIsBehindAndMayBeRefreshed) {
  lose_and_come_back();
  auto pinged = ping();
  greet();
  peer_->answer_share_page(2);
  peer_->reply(expect_acquire(), without_page(grant(9, 3)));
  answer_ping();
  EXPECT_EQ(pinged.get().status, HB_OK);
  EXPECT_FALSE(imported_.is_current());
  expect_untouched();
  auto refreshed = start([&] { imported_.refresh(); });
  const PeerFrame asked = peer_->expect(FrameType::kRefresh);
  pb::Refresh question;
  ASSERT_TRUE(question.ParseFromString(asked.body));
  EXPECT_EQ(question.lease_id(), 9u);
  EXPECT_EQ(question.have_version(), 1u);
  pb::RefreshReply answer;
  *answer.mutable_grant() = without_page(grant(9, 3));
  answer.add_changed()->set_count(1);
  peer_->reply(asked, answer);
  pb::FetchReply page;
  page.add_chunks()->set_handle(1);
  page.mutable_chunks(0)->set_size(kPage);
  peer_->reply(peer_->expect(FrameType::kFetch), page, {object_.get()});
  EXPECT_EQ(refreshed.get().status, HB_OK);
  EXPECT_TRUE(imported_.is_current());
  expect_untouched();
}

TEST_F(AReattach, OfAnExportThatIsGoneIsNotTriedAgain) {
  lose_and_come_back();
  auto pinged = ping();
  greet();
  peer_->answer_share_page(2);
  refuse(expect_acquire(), HB_GONE, "its owner did not come back");
  answer_ping();
  EXPECT_EQ(pinged.get().status, HB_OK);
  for (int i = 0; i < 3; ++i) expect_only_ping();
  EXPECT_FALSE(imported_.is_current());
  expect_untouched();
}

TEST_F(AReattach, IsTriedLaterWhereTheOwnerIsStillToCome) {
  lose_and_come_back();
  auto pinged = ping();
  greet();
  peer_->answer_share_page(2);
  refuse(expect_acquire(), HB_SUSPENDED, "the export is awaited");
  answer_ping();
  EXPECT_EQ(pinged.get().status, HB_OK);
  EXPECT_FALSE(imported_.is_current());
  // At later calls, and not at each.
  std::uint64_t asked = 0;
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::nanoseconds(kWatchdogNs);
  std::thread daemon([&] {
    for (;;) {
      const PeerFrame frame = peer_->receive();
      if (frame.ended) return;
      if (frame.header.type != FrameType::kAcquire)
        peer_->reply(frame, pb::PingReply());
      else if (++asked < 4)
        refuse(frame, asked == 1 ? HB_NOT_FOUND : HB_SUSPENDED, "not yet");
      else
        peer_->reply(frame, without_page(grant(9, 1)));
    }
  });
  while (!imported_.is_current() && std::chrono::steady_clock::now() < deadline) client_->ping();
  EXPECT_TRUE(imported_.is_current());
  client_.reset();
  daemon.join();
  EXPECT_EQ(asked, 4u);
}

TEST_F(AReattach, AfterItsOwnProcessHasBroughtTheExportBack) {
  const hipbroker::Memory memory = client_->allocate(kPage);
  const hipbroker::Export own = export_memory(memory);
  lose_and_come_back();
  auto pinged = ping();
  greet();
  pb::Reoffer offer;
  peer_->reply(expect_reoffer(offer), exported(3, kPage, 1));
  peer_->answer_share_page(2);
  peer_->reply(expect_acquire(), without_page(grant(9, 1)));
  answer_ping();
  EXPECT_EQ(pinged.get().status, HB_OK);
  EXPECT_TRUE(imported_.is_current());
}

TEST_F(AReattach, ThatIsClosedMeanwhileIsForgotten) {
  lose_and_come_back();
  imported_ = hipbroker::Import();
  auto pinged = ping();
  greet();
  answer_ping();
  EXPECT_EQ(pinged.get().status, HB_OK);
}

TEST_F(AReattach, WatchesOnlyTheNewWord) {
  lose_and_come_back();
  auto pinged = ping();
  greet();
  peer_->answer_share_page(7);  // not the value of this grant
  peer_->reply(expect_acquire(), without_page(grant(9, 1)));
  answer_ping();
  EXPECT_EQ(pinged.get().status, HB_OK);
  EXPECT_FALSE(imported_.is_current());
}

}  // namespace
}  // namespace hb::test
