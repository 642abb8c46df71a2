// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Exports of a lost session, offered to the daemon that comes after.
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <thread>
#include <vector>

#include "away_daemon.h"
#include "hipbroker/events.hpp"
#include "wire/limits.h"

namespace hb::test {
namespace {

class AReoffer : public AwayDaemon {
 protected:
  // The whole way back of one export, of this many bytes.
  void take_back(std::uint64_t bytes, std::uint64_t version) {
    pb::Reoffer offer;
    const PeerFrame asked = expect_reoffer(offer);
    peer_->reply(asked, wanted(offer.export_id(), bytes, version, 'u'));
    pb::Change change;
    const PeerFrame resumed = expect_resume(change);
    peer_->reply(resumed, exported(offer.export_id(), bytes, version + 1, 'v'));
  }
};

std::uint64_t inode_of(int fd) {
  struct stat st {};
  EXPECT_EQ(::fstat(fd, &st), 0);
  return st.st_ino;
}

TEST_F(AReoffer, BringsAnExportBackAsItWas) {
  const hipbroker::Memory memory = client_->allocate(3 * kPage, kPage);
  hipbroker::ExportOptions options;
  options.name = "weights";
  options.metadata = "shape";
  options.acl = {{HB_ACL_GID, 7, HB_ACCESS_READ}};
  options.max_bytes = 8 * kPage;
  options.lifetime = HB_LIFETIME_LINGER;
  options.linger = std::chrono::nanoseconds(9);
  hipbroker::Export exported_one = export_memory(memory, options);
  const hipbroker::Key key = exported_one.key();
  lose_and_come_back();
  auto pinged = ping();
  greet();
  pb::Reoffer offer;
  const PeerFrame asked = expect_reoffer(offer);
  EXPECT_EQ(offer.export_id(), 3u);
  EXPECT_EQ(offer.generation(), 1u);
  EXPECT_EQ(offer.token(), std::string(16, 't'));
  EXPECT_EQ(offer.name(), "weights");
  EXPECT_EQ(offer.metadata(), "shape");
  ASSERT_EQ(offer.acl_size(), 1);
  EXPECT_EQ(offer.acl(0).id(), 7u);
  EXPECT_EQ(offer.handle_kind(), static_cast<std::uint32_t>(HB_KIND_MEMFD));
  EXPECT_EQ(offer.lifetime(), static_cast<std::uint32_t>(HB_LIFETIME_LINGER));
  EXPECT_EQ(offer.linger_ns(), 9u);
  EXPECT_EQ(offer.access(), 3u);
  EXPECT_EQ(offer.max_size(), 8 * kPage);
  EXPECT_EQ(offer.layout_version(), 1u);
  EXPECT_EQ(offer.size(), 3 * kPage);
  peer_->reply(asked, wanted(3, 3 * kPage, 5, 'u'));
  pb::Change change;
  const PeerFrame resumed = expect_resume(change);
  EXPECT_EQ(change.export_id(), 3u);
  EXPECT_EQ(change.total_chunks(), 3u);
  EXPECT_EQ(change.total_size(), 3 * kPage);
  EXPECT_EQ(resumed.fds.size(), 3u);
  peer_->reply(resumed, exported(3, 3 * kPage, 6, 'v'));
  answer_ping();
  EXPECT_EQ(pinged.get().status, HB_OK);
  EXPECT_EQ(client_->stats().reconnects, 1u);
  const hb_export_info info = exported_one.info();
  EXPECT_EQ(info.export_id, 3u);
  EXPECT_EQ(info.generation, 1u);
  EXPECT_EQ(info.layout_version, 6u);
  EXPECT_EQ(std::memcmp(info.key.bytes, key.get()->bytes, sizeof info.key.bytes), 0);
  // Once more, with the token of the last answer.
  lose_and_come_back();
  pinged = ping();
  greet();
  const PeerFrame again = expect_reoffer(offer);
  EXPECT_EQ(offer.token(), std::string(16, 'v'));
  EXPECT_EQ(offer.layout_version(), 6u);
  peer_->reply(again, exported(3, 3 * kPage, 6, 'v'));  // it has its descriptors yet
  answer_ping();
  EXPECT_EQ(pinged.get().status, HB_OK);
  auto withdrawn = start([&] { exported_one.withdraw(); });
  pb::WithdrawReply one;
  one.set_withdrawn(1);
  peer_->reply(peer_->expect(FrameType::kWithdraw), one);
  EXPECT_EQ(withdrawn.get().status, HB_OK);
}

TEST_F(AReoffer, ThatIsRefusedIsTheEndAndSaysWhy) {
  const hipbroker::Memory memory = client_->allocate(kPage);
  hipbroker::Export exported_one = export_memory(memory);
  lose_and_come_back();
  auto pinged = ping();
  greet();
  pb::Reoffer offer;
  refuse(expect_reoffer(offer), HB_NOT_FOUND, "the grace time is over");
  answer_ping();
  EXPECT_EQ(pinged.get().status, HB_OK);
  const Outcome ended = start([&] { exported_one.withdraw(); }).get();
  EXPECT_EQ(ended.status, HB_GONE);
  EXPECT_NE(ended.message.find("the grace time is over"), std::string::npos) << ended.message;
  expect_only_ping();
}

TEST_F(AReoffer, WithoutATokenIsNotTried) {
  const hipbroker::Memory memory = client_->allocate(kPage);
  hipbroker::Export exported_one = export_memory(memory, {}, '\0');
  lose_and_come_back();
  auto pinged = ping();
  greet();
  answer_ping();
  EXPECT_EQ(pinged.get().status, HB_OK);
  EXPECT_EQ(start([&] { exported_one.withdraw(); }).get().status, HB_GONE);
}

TEST_F(AReoffer, OfMemoryThatIsNotThereAnyMoreSaysSo) {
  hipbroker::Memory memory = client_->allocate(kPage);
  hipbroker::Export exported_one = export_memory(memory);
  lose_and_come_back();
  memory = hipbroker::Memory();
  auto pinged = ping();
  greet();
  pb::Reoffer offer;
  peer_->reply(expect_reoffer(offer), wanted(3, kPage, 2, 'u'));
  // The daemon must not wait for what cannot come.
  peer_->expect(FrameType::kExportAbort);
  peer_->reply(peer_->expect(FrameType::kWithdraw), pb::WithdrawReply());
  answer_ping();
  EXPECT_EQ(pinged.get().status, HB_OK);
  const Outcome ended = start([&] { exported_one.withdraw(); }).get();
  EXPECT_EQ(ended.status, HB_GONE);
  EXPECT_NE(ended.message.find("its memory was freed"), std::string::npos) << ended.message;
}

TEST_F(AReoffer, TakesTheCallersDescriptorsAsLongAsTheyAreTheSame) {
  UniqueFd object = sealed_memfd(2 * kPage, 1);
  const std::vector<hb_chunk> chunks{{object.get(), 0, kPage}, {object.get(), kPage, kPage}};
  const hipbroker::Export exported_one =
      make([&] { return client_->export_chunks(chunks); }, exported(3, 2 * kPage, 1));
  lose_and_come_back();
  auto pinged = ping();
  greet();
  pb::Reoffer offer;
  peer_->reply(expect_reoffer(offer), wanted(3, 2 * kPage, 2, 'u'));
  pb::Change change;
  const PeerFrame resumed = expect_resume(change);
  ASSERT_EQ(resumed.fds.size(), 1u);
  EXPECT_EQ(inode_of(resumed.fds[0].get()), inode_of(object.get()));
  EXPECT_EQ(change.chunks_size(), 2);
  EXPECT_EQ(change.chunks(1).offset(), kPage);
  peer_->reply(resumed, exported(3, 2 * kPage, 3, 'v'));
  answer_ping();
  EXPECT_EQ(pinged.get().status, HB_OK);
  // Another object by the same number.
  const int number = object.get();
  const UniqueFd other = sealed_memfd(2 * kPage, 2);
  ASSERT_EQ(::dup3(other.get(), number, O_CLOEXEC), number);
  lose_and_come_back();
  pinged = ping();
  greet();
  peer_->reply(expect_reoffer(offer), wanted(3, 2 * kPage, 4, 'u'));
  peer_->expect(FrameType::kExportAbort);
  peer_->expect(FrameType::kWithdraw);
  answer_ping();
  EXPECT_EQ(pinged.get().status, HB_OK);
}

TEST_F(AReoffer, ComesBeforeACallOfThatExport) {
  const hipbroker::Memory memory = client_->allocate(kPage);
  hipbroker::ExportOptions options;
  options.max_bytes = 4 * kPage;
  hipbroker::Export exported_one = export_memory(memory, options);
  const UniqueFd more = sealed_memfd(kPage, 1);
  const std::vector<hb_chunk> chunks{{more.get(), 0, kPage}};
  const hipbroker::Source source(chunks);
  lose_and_come_back();
  auto appended = start([&] { exported_one.append(source); });
  greet();
  take_back(kPage, 2);
  const PeerFrame append = peer_->expect(FrameType::kChange);
  pb::Change change;
  ASSERT_TRUE(change.ParseFromString(append.body));
  EXPECT_EQ(change.kind(), pb::Change::APPEND);
  peer_->reply(append, exported(3, 2 * kPage, 4, 'w'));
  EXPECT_EQ(appended.get().status, HB_OK);
  // It is made of two by now, each from where it came.
  lose_and_come_back();
  auto pinged = ping();
  greet();
  pb::Reoffer offer;
  const PeerFrame asked = expect_reoffer(offer);
  EXPECT_EQ(offer.token(), std::string(16, 'w'));
  EXPECT_EQ(offer.size(), 2 * kPage);
  peer_->reply(asked, wanted(3, 2 * kPage, 5, 'u'));
  const PeerFrame first = expect_resume(change);
  EXPECT_EQ(change.total_chunks(), 2u);
  EXPECT_EQ(change.distinct_handles(), 2u);
  peer_->reply(first, wanted(3, 2 * kPage, 5, 'u'));
  const PeerFrame second = peer_->expect(FrameType::kExportChunks);
  pb::ExportChunks rest;
  ASSERT_TRUE(rest.ParseFromString(second.body));
  EXPECT_EQ(rest.first(), 1u);
  ASSERT_EQ(second.fds.size(), 1u);
  EXPECT_EQ(inode_of(second.fds[0].get()), inode_of(more.get()));
  peer_->reply(second, exported(3, 2 * kPage, 6, 'v'));
  answer_ping();
  EXPECT_EQ(pinged.get().status, HB_OK);
}

TEST_F(AReoffer, LeavesASleepingExportAsleep) {
  const hipbroker::Memory memory = client_->allocate(kPage);
  hipbroker::Export exported_one = export_memory(memory);
  auto slept = start([&] { exported_one.suspend(); });
  pb::WithdrawReply asleep;
  asleep.set_layout_version(2);
  peer_->reply(peer_->expect(FrameType::kSuspend), asleep);
  EXPECT_EQ(slept.get().status, HB_OK);
  lose_and_come_back();
  auto pinged = ping();
  greet();
  pb::Reoffer offer;
  peer_->reply(expect_reoffer(offer), wanted(3, kPage, 2, 'u'));
  answer_ping();
  EXPECT_EQ(pinged.get().status, HB_OK);
  const hipbroker::Source source(memory);
  auto resumed = start([&] { exported_one.resume(source); });
  pb::Change change;
  peer_->reply(expect_resume(change), exported(3, kPage, 3, 'v'));
  EXPECT_EQ(resumed.get().status, HB_OK);
}

TEST_F(AReoffer, DoesNotTakeTheTimeOfAShortCall) {
  const hipbroker::Memory memory = client_->allocate(kPage);
  hipbroker::Export exported_one = export_memory(memory);
  lose_and_come_back();
  auto pinged = start([&] { client_->ping(std::chrono::milliseconds(400)); });
  greet();
  pb::Reoffer offer;
  expect_reoffer(offer);  // and the daemon does not answer that
  answer_ping();
  EXPECT_EQ(pinged.get().status, HB_OK);
  // The next that has the time goes on, from the start.
  auto withdrawn = start([&] { exported_one.withdraw(); });
  peer_->reply(expect_reoffer(offer), wanted(3, kPage, 2, 'u'));
  peer_->reply(peer_->expect(FrameType::kWithdraw), pb::WithdrawReply());
  EXPECT_EQ(withdrawn.get().status, HB_OK);
}

TEST_F(AReoffer, SendsItsPagesInTheTimeOfManyCalls) {
  const UniqueFd object = sealed_memfd(kPage, 1);
  constexpr std::uint64_t kChunks = 3 * limits::kPageChunks;
  const std::vector<hb_chunk> chunks(kChunks, {object.get(), 0, kPage});
  auto made = std::async(std::launch::async, [&] { return client_->export_chunks(chunks); });
  pb::ExportReply part;
  part.set_export_id(3);
  peer_->reply(peer_->expect(FrameType::kExport), part);
  peer_->reply(peer_->expect(FrameType::kExportChunks), part);
  peer_->reply(peer_->expect(FrameType::kExportChunks), exported(3, kChunks * kPage, 1));
  const hipbroker::Export exported_one = made.get();
  lose_and_come_back();
  // Each page is answered late, so that a call does one or two of them.
  std::uint64_t sent = 0;
  std::thread daemon([&] {
    greet();
    for (int pings = 0; pings < 8;) {
      const PeerFrame frame = peer_->receive();
      if (frame.ended) return;
      if (frame.header.type == FrameType::kPing) {
        ++pings;
        peer_->reply(frame, pb::PingReply());
        continue;
      }
      ::poll(nullptr, 0, 25);  // longer than a slice
      if (frame.header.type == FrameType::kReoffer) {
        peer_->reply(frame, wanted(3, kChunks * kPage, 2, 'u'));
      } else {
        pb::Change change;
        pb::ExportChunks rest;
        if (frame.header.type == FrameType::kChange && change.ParseFromString(frame.body))
          sent += static_cast<std::uint64_t>(change.chunks_size());
        else if (rest.ParseFromString(frame.body) && rest.first() == sent)
          sent += static_cast<std::uint64_t>(rest.chunks_size());
        peer_->reply(frame, sent == kChunks ? exported(3, kChunks * kPage, 3, 'v')
                                            : wanted(3, kChunks * kPage, 2, 'u'));
      }
    }
  });
  for (int i = 0; i < 8; ++i) client_->ping();
  daemon.join();
  EXPECT_EQ(sent, kChunks);
  EXPECT_EQ(exported_one.info().layout_version, 3u);
}

TEST_F(AReoffer, IsNotTriedForEverWhereDaemonsHangUpOnIt) {
  const hipbroker::Memory memory = client_->allocate(kPage);
  hipbroker::Export exported_one = export_memory(memory);
  lose_and_come_back();
  auto pinged = ping();
  for (int i = 0; i < 2; ++i) {
    greet();
    pb::Reoffer offer;
    expect_reoffer(offer);
    peer_->hang_up();
  }
  greet();
  answer_ping();
  EXPECT_EQ(pinged.get().status, HB_OK);
  EXPECT_EQ(start([&] { exported_one.withdraw(); }).get().status, HB_GONE);
}

TEST_F(AReoffer, HappensInTheSameSessionForDescriptorsThatTheDaemonLost) {
  const hipbroker::Memory memory = client_->allocate(kPage);
  const hipbroker::Export exported_one = export_memory(memory);
  pb::Resumed notice;
  notice.set_restarts(1);
  notice.add_awaited(3);
  peer_->send({FrameType::kResumed, kFlagEvent, 0, 0}, notice.SerializeAsString());
  auto pinged = ping();  // reads the notice, and leaves twice because of that
  const PeerFrame first = peer_->expect(FrameType::kPing);
  peer_->expect(FrameType::kPing);
  peer_->reply(first, pb::PingReply());
  EXPECT_EQ(pinged.get().status, HB_OK);
  pinged = ping();
  take_back(kPage, 2);
  answer_ping();
  EXPECT_EQ(pinged.get().status, HB_OK);
  EXPECT_EQ(exported_one.info().layout_version, 3u);
  EXPECT_EQ(client_->stats().reconnects, 0u);
}

TEST_F(AReoffer, NeedsNoCallWhereEventsAreTaken) {
  const hipbroker::Memory memory = client_->allocate(kPage);
  const hipbroker::Export exported_one = export_memory(memory);
  UniqueFd bell;
  const auto subscribe = [&] {
    std::array<int, 2> ends{};
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()), 0);
    bell = UniqueFd(ends[0]);
    const UniqueFd heard(ends[1]);
    peer_->reply(peer_->expect(FrameType::kSubscribe), pb::SubscribeReply(), {heard.get()});
  };
  std::vector<std::uint32_t> told;
  auto looping = std::async(std::launch::async, [&] {
    hipbroker::dispatch_loop(*client_, [&](const hb_event& event) { told.push_back(event.kind); });
  });
  subscribe();
  peer_->reply(peer_->expect(FrameType::kTakeEvents), pb::TakeEventsReply());
  lose();
  bell.reset();
  come_back();
  greet();
  subscribe();
  peer_->reply(peer_->expect(FrameType::kTakeEvents), pb::TakeEventsReply());
  take_back(kPage, 2);
  hipbroker::stop_dispatch(*client_);
  looping.get();
  EXPECT_EQ(told, (std::vector<std::uint32_t>{HB_EVENT_SESSION_LOST, HB_EVENT_SESSION_NEW}));
}

}  // namespace
}  // namespace hb::test
