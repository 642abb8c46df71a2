// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Pages of descriptors against a process that has no room for them.
#include "acquire.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cstdlib>
#include <future>

#include "client.h"
#include "fake_peer.h"
#include "handles.h"
#include "import.h"
#include "support/memfd.h"
#include "support/wait.h"
#include "wire/limits.h"

namespace hb::test {
namespace {

using client::Acquired;
using client::Grant;
using client::GrantPage;
using client::Result;

class AnAcquire : public testing::Test {
 protected:
  AnAcquire() : ends_(connected_ends()) {
    auto mark = client::ProcessMark::take();
    auto opened = std::async(std::launch::async, [&] {
      return client::Session::open({std::move(ends_.session), "the test's"}, *mark, client::kNoDeadline);
    });
    ends_.peer.answer_hello();
    session_ = *opened.get();
    client_ = std::make_shared<client::Client>(client::ClientOptions{}, *mark, session_);
    request_.target.name = "x";
    request_.access = HB_ACCESS_READ;
    request_.bytes = HB_WHOLE;
    request_.deadline_ns = client::kNoDeadline;
  }
  FakePeer& peer() { return ends_.peer; }
  std::future<Result<Acquired>> start() {
    return std::async(std::launch::async, [this] {
      return client::acquire(*client_, request_, [this](const Grant&, const GrantPage& page) -> Result<void> {
        pages_.push_back(page.fds.size());
        firsts_ += page.first ? 1 : 0;
        return {};
      });
    });
  }
  static pb::AcquireReply grant(std::uint64_t lease, std::uint64_t chunks, std::size_t first_page) {
    pb::AcquireReply grant = one_chunk_grant(lease, 4096);
    grant.clear_chunks();
    grant.set_length(chunks * 4096);
    grant.set_export_size(chunks * 4096);
    grant.set_chunk_count(chunks);
    for (std::size_t i = 0; i < first_page; ++i) {
      pb::Chunk* chunk = grant.add_chunks();
      chunk->set_handle(static_cast<std::uint32_t>(i + 1));
      chunk->set_size(4096);
    }
    return grant;
  }
  std::uint32_t asked(const PeerFrame& frame) {
    pb::Acquire acquire;
    EXPECT_TRUE(acquire.ParseFromString(frame.body));
    return acquire.max_handles();
  }
  std::uint64_t released(const PeerFrame& frame) {
    pb::Release release;
    EXPECT_TRUE(release.ParseFromString(frame.body));
    return release.lease_id();
  }

  Ends ends_;
  std::shared_ptr<client::Session> session_;
  std::shared_ptr<client::Client> client_;
  client::AcquireRequest request_;
  std::vector<std::size_t> pages_;
  int firsts_ = 0;
};

// Room for so many descriptors more, for as long as it lives. The limit is one of numbers, not of how many
// are open: holes count.
class FdLimit {
 public:
  explicit FdLimit(std::uint64_t room) {
    std::uint64_t soft = 0;
    for (std::uint64_t free = 0; free < room || ::fcntl(static_cast<int>(soft), F_GETFD) >= 0; ++soft)
      if (::fcntl(static_cast<int>(soft), F_GETFD) < 0) ++free;
    ::getrlimit(RLIMIT_NOFILE, &old_);
    rlimit limit = old_;
    limit.rlim_cur = soft;
    ::setrlimit(RLIMIT_NOFILE, &limit);
    soft_ = soft;
  }
  [[nodiscard]] std::uint64_t soft() const { return soft_; }
  ~FdLimit() { ::setrlimit(RLIMIT_NOFILE, &old_); }

 private:
  rlimit old_{};
  std::uint64_t soft_ = 0;
};

TEST_F(AnAcquire, FetchesPageAfterPage) {
  auto acquired = start();
  peer().answer_share_page(1);
  const UniqueFd object = sealed_memfd(4096, 1);
  peer().reply(peer().expect(FrameType::kAcquire), grant(5, 5, 2), {object.get(), object.get()});
  const PeerFrame fetch = peer().expect(FrameType::kFetch);
  pb::Fetch wanted;
  ASSERT_TRUE(wanted.ParseFromString(fetch.body));
  EXPECT_EQ(wanted.lease_id(), 5u);
  EXPECT_EQ(wanted.first(), 2u);
  pb::FetchReply page;
  page.set_first(2);
  for (std::uint32_t i = 1; i <= 3; ++i) {
    pb::Chunk* chunk = page.add_chunks();
    chunk->set_handle(1);
    chunk->set_size(4096);
  }
  peer().reply(fetch, page, {object.get()});
  {
    const auto result = acquired.get();
    ASSERT_TRUE(result) << result.error().message;
    EXPECT_TRUE(result->lease.is_current());
    EXPECT_EQ(pages_, (std::vector<std::size_t>{2, 1}));
  }
  EXPECT_EQ(released(peer().expect(FrameType::kRelease)), 5u);
}

TEST_F(AnAcquire, BeginsAnewWhereTheExportChangesBetweenTwoPages) {
  const UniqueFd object = sealed_memfd(4096, 1);
  for (const hb_status changed : {HB_STALE, HB_SUSPENDED}) {
    pages_.clear();
    auto acquired = start();
    if (changed == HB_STALE) peer().answer_share_page(1);
    peer().reply(peer().expect(FrameType::kAcquire), grant(5, 3, 2), {object.get(), object.get()});
    pb::Error stale;
    stale.set_status(changed);
    peer().refuse(peer().expect(FrameType::kFetch), stale);
    EXPECT_EQ(released(peer().expect(FrameType::kRelease)), 5u);
    const PeerFrame again = peer().expect(FrameType::kAcquire);
    pb::AcquireReply whole = grant(6, 3, 3);
    whole.set_layout_version(2);
    peer().reply(again, whole, {object.get(), object.get(), object.get()});
    {
      const auto result = acquired.get();
      ASSERT_TRUE(result) << result.error().message;
      EXPECT_EQ(result->grant.layout_version, 2u);
    }
    EXPECT_EQ(released(peer().expect(FrameType::kRelease)), 6u);
    EXPECT_EQ(pages_, (std::vector<std::size_t>{2, 3}));
    EXPECT_EQ(firsts_, 2);
    firsts_ = 0;
  }
}

TEST_F(AnAcquire, GivesATruncatedPageBackAndAsksForHalf) {
  const UniqueFd object = sealed_memfd(4096, 1);
  auto acquired = start();
  peer().answer_share_page(1);
  PeerFrame request = peer().expect(FrameType::kAcquire);
  const std::uint32_t first = asked(request);
  {
    const FdLimit tight(1);  // of three descriptors one fits
    peer().reply(request, grant(6, 3, 3), {object.get(), object.get(), object.get()});
    EXPECT_EQ(released(peer().expect(FrameType::kRelease)), 6u);
  }
  request = peer().expect(FrameType::kAcquire);
  EXPECT_EQ(asked(request), first / 2);
  peer().reply(request, grant(7, 1, 1), {object.get()});
  EXPECT_TRUE(acquired.get().has_value());
  EXPECT_EQ(released(peer().expect(FrameType::kRelease)), 7u);
}

// A ticket works once: what came of it is not given back.
TEST_F(AnAcquire, FetchesATicketsTruncatedPageAgainUnderItsLease) {
  const UniqueFd object = sealed_memfd(4096, 1);
  KeyFields ticket;
  ticket.kind = KeyKind::kTicket;
  request_.target = {encode_key(ticket, Secret{}), "", {}};
  auto acquired = start();
  peer().answer_share_page(1);
  PeerFrame request = peer().expect(FrameType::kAcquire);
  const std::uint32_t first = asked(request);
  {
    const FdLimit tight(1);  // of three descriptors one fits
    peer().reply(request, grant(6, 3, 3), {object.get(), object.get(), object.get()});
    request = peer().expect(FrameType::kFetch);
  }
  pb::Fetch wanted;
  ASSERT_TRUE(wanted.ParseFromString(request.body));
  EXPECT_EQ(wanted.lease_id(), 6u);
  EXPECT_EQ(wanted.first(), 0u);
  EXPECT_EQ(wanted.max_handles(), first / 2);
  pb::FetchReply page;
  for (std::uint32_t i = 1; i <= 3; ++i) {
    pb::Chunk* chunk = page.add_chunks();
    chunk->set_handle(i);
    chunk->set_size(4096);
  }
  peer().reply(request, page, {object.get(), object.get(), object.get()});
  {
    const auto result = acquired.get();
    ASSERT_TRUE(result) << result.error().message;
    EXPECT_EQ(pages_, (std::vector<std::size_t>{3}));
  }
  EXPECT_EQ(released(peer().expect(FrameType::kRelease)), 6u);
}

TEST_F(AnAcquire, SaysWhichLimitWhenNotEvenOneDescriptorFits) {
  const UniqueFd object = sealed_memfd(4096, 1);
  auto acquired = start();
  peer().answer_share_page(1);
  PeerFrame request = peer().expect(FrameType::kAcquire);
  {
    const FdLimit tight(0);
    const std::uint64_t limit = tight.soft();
    for (std::uint32_t ask = asked(request);; ask /= 2) {
      peer().reply(request, grant(ask, 1, 1), {object.get()});
      EXPECT_EQ(released(peer().expect(FrameType::kRelease)), ask);
      if (ask == 1) break;
      request = peer().expect(FrameType::kAcquire);
      ASSERT_EQ(asked(request), ask / 2);
    }
    const auto result = acquired.get();
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().status, HB_NO_FDS);
    EXPECT_EQ(result.error().what, "RLIMIT_NOFILE");
    EXPECT_EQ(result.error().limit, limit);
    EXPECT_NE(result.error().message.find(std::to_string(limit)), std::string::npos);
  }
}

TEST_F(AnAcquire, HalvesWhenTheDaemonHasNoDescriptors) {
  auto acquired = start();
  peer().answer_share_page(1);
  pb::Error error;
  error.set_status(HB_NO_FDS);
  error.set_message("the daemon's");
  for (std::uint32_t last = 0;;) {
    const PeerFrame request = peer().expect(FrameType::kAcquire);
    const std::uint32_t ask = asked(request);
    if (last != 0) {
      EXPECT_EQ(ask, last / 2);
    }
    last = ask;
    peer().refuse(request, error);
    if (ask == 1) break;
  }
  EXPECT_EQ(acquired.get().error().message, "the daemon's");
}

TEST_F(AnAcquire, KeepsNoHandlesWhereNotAllFit) {
  const UniqueFd object = sealed_memfd(4096, 1);
  auto handles = std::async(std::launch::async, [&] { return client::acquire_handles(client_, request_); });
  peer().answer_share_page(1);
  peer().reply(peer().expect(FrameType::kAcquire), grant(8, 1'000'000, 2), {object.get(), object.get()});
  const auto result = handles.get();
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().status, HB_NO_FDS);
  EXPECT_EQ(result.error().used, 1'000'000u);
  EXPECT_EQ(released(peer().expect(FrameType::kRelease)), 8u);
}

TEST_F(AnAcquire, RefusesGrantsThatMakeNoSense) {
  const UniqueFd object = sealed_memfd(4096, 1);
  std::vector<pb::AcquireReply> broken(7, one_chunk_grant(9, 4096));
  broken[0].set_length(8192);  // past the export's end
  broken[1].mutable_chunks(0)->set_handle(2);
  broken[2].mutable_chunks(0)->set_size(UINT64_MAX);
  broken[3].set_validity_slot(5000);
  broken[4].clear_chunks();
  broken[5].set_secret("short");
  broken[6].mutable_chunks(0)->set_object_size(4095);
  bool first = true;
  for (const pb::AcquireReply& reply : broken) {
    auto acquired = start();
    if (std::exchange(first, false)) peer().answer_share_page(1);
    peer().reply(peer().expect(FrameType::kAcquire), reply, {object.get()});
    const auto result = acquired.get();
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().status, HB_PROTO);
    EXPECT_EQ(released(peer().expect(FrameType::kRelease)), 9u);
  }
}

TEST_F(AnAcquire, TellsObjectsAndPeersAsTheDaemonKnowsThem) {
  const UniqueFd object = sealed_memfd(8192, 1);
  pb::AcquireReply reply = one_chunk_grant(10, 4096);
  reply.mutable_chunks(0)->set_object_size(8192);
  reply.set_object_bytes(8192);
  reply.mutable_device()->set_pci("0000:03:00.0");
  reply.add_peers()->set_uuid("GPU-2");
  reply.add_peers()->set_partition(3);
  auto handles = std::async(std::launch::async, [&] { return client::acquire_handles(client_, request_); });
  peer().answer_share_page(1);
  peer().reply(peer().expect(FrameType::kAcquire), reply, {object.get()});
  const auto result = handles.get();
  ASSERT_TRUE(result) << result.error().message;
  const std::unique_ptr<hb_handles> held(*result);
  EXPECT_EQ(held->chunks.at(0).object_bytes, 8192u);
  EXPECT_EQ(held->grant.object_bytes, 8192u);
  ASSERT_EQ(held->grant.peers.size(), 2u);
  EXPECT_EQ(held->grant.peers[0].uuid, "GPU-2");
  EXPECT_EQ(held->grant.peers[1].partition, 3u);
}

// GPU memory is mapped in whole objects, whose sizes are needed before the second page. A runtime is never
// asked for what cannot be reserved.
TEST_F(AnAcquire, AddressesForWholeObjectsAreKnownOrRefused) {
  ::setenv("HIPBROKER_HIP_RUNTIME", "/nonexistent/libamdhip64.so", 1);
  const UniqueFd object = sealed_memfd(4096, 1);
  client::ImportRequest wanted;
  wanted.key.target.name = "x";
  wanted.key.access = HB_ACCESS_READ;
  wanted.deadline_ns = client::kNoDeadline;
  bool first = true;
  const auto import_of = [&](pb::AcquireReply reply) {
    reply.mutable_device()->set_pci("0000:03:00.0");
    auto opened = std::async(std::launch::async, [&] { return client::open_import(client_, wanted); });
    if (std::exchange(first, false)) peer().answer_share_page(1);
    peer().reply(peer().expect(FrameType::kAcquire), reply, {object.get()});
    const auto result = opened.get();
    EXPECT_FALSE(result);
    EXPECT_EQ(released(peer().expect(FrameType::kRelease)), 11u);
    return result ? client::Error() : result.error();
  };
  // A daemon from before the field: with all chunks at hand it goes on to the runtime, else it says so.
  const client::Error paged = import_of(grant(11, 5, 1));
  EXPECT_EQ(paged.status, HB_UNSUPPORTED);
  EXPECT_NE(paged.message.find("update hipbrokerd"), std::string::npos) << paged.message;
  EXPECT_NE(import_of(grant(11, 1, 1)).message.find("/nonexistent/"), std::string::npos);
  pb::AcquireReply told = grant(11, 5, 1);
  told.set_object_bytes(5 * 4096);
  EXPECT_NE(import_of(told).message.find("/nonexistent/"), std::string::npos);
  told.set_object_bytes(UINT64_MAX);
  const client::Error huge = import_of(told);
  EXPECT_EQ(huge.status, HB_RANGE);
  EXPECT_EQ(huge.limit, limits::kExportBytes);
  ::unsetenv("HIPBROKER_HIP_RUNTIME");
}

}  // namespace
}  // namespace hb::test
