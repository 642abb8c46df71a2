// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// The engine with the real core and real descriptors; recipients are fakes.
#include "ipc/engine.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>

#include "hipbroker/v1/broker.pb.h"
#include "support/memfd.h"
#include "support/wait.h"
#include "wire/limits.h"

namespace hb::test {
namespace {

namespace v1 = hipbroker::v1;

struct Delivered {
  FrameHeader header;
  std::string body;
  std::vector<ipc::OutHandle> handles;
};

class FakeRecipient : public ipc::Recipient {
 public:
  ipc::Unanswered::Who who() const override { return {}; }
  void deliver(const ipc::OutFrame& frame) override {
    const auto view = decode_frame(frame.bytes);
    ASSERT_TRUE(view);
    got.push_back({view->header,
                   std::string(reinterpret_cast<const char*>(view->body.data()), view->body.size()),
                   {frame.handles.begin(), frame.handles.end()}});
  }
  void set_validity(std::uint32_t slot, std::uint32_t value) override {
    words.resize(std::max<std::size_t>(words.size(), slot + 1));
    words[slot] = value;
  }
  void drop_handles(std::span<const core::HandleId> handles, const ipc::Outbox::GoneFrame& gone) override {
    dropped.insert(dropped.end(), handles.begin(), handles.end());
    gone_frame = gone(5);
  }
  void subscribe(const ipc::OutFrame&) override {}
  void ring() override {}
  [[nodiscard]] bool outlives() const override { return false; }
  void refuse(std::uint64_t request_id, const ipc::EdgeError& error) override {
    refused.emplace_back(request_id, error);
  }
  std::vector<std::pair<std::uint64_t, ipc::EdgeError>> refused;
  std::vector<Delivered> got;
  std::vector<std::uint32_t> words;
  std::vector<core::HandleId> dropped;
  std::vector<std::byte> gone_frame;
};

class EngineTest : public testing::Test {
 protected:
  EngineTest() {
    core::BrokerConfig config;
    config.fd_limit = 4096;
    config.fd_base = 10;
    engine_ = std::make_unique<ipc::Engine>(io_, config, std::vector<os::DriverRule>{});
  }
  core::SessionId connect(ipc::Recipient& recipient, std::uint32_t uid) {
    core::Principal principal;
    principal.uid = uid;
    principal.gid = uid;
    principal.groups = {uid};
    const auto session = engine_->connect(principal, {}, recipient);
    EXPECT_TRUE(session);
    return *session;
  }
  void export_memory(core::SessionId session, UniqueFd memory, std::uint32_t reader,
                     std::uint64_t max_size = 0) {
    std::vector<UniqueFd> fds;
    fds.push_back(std::move(memory));
    auto facts = engine_->admit(std::move(fds), ipc::Payer{});
    ASSERT_TRUE(facts) << facts.error().reason;
    core::ExportRequest request;
    request.name = "w";
    request.acl = {{core::AclEntry::Kind::kUid, reader, core::Access::kReadWrite}};
    request.total_chunks = 1;
    request.total_size = kPage;
    request.max_size = max_size;
    request.distinct_handles = 1;
    core::NewChunk chunk;
    chunk.handle = 0;
    chunk.size = kPage;
    request.chunks = {chunk};
    request.handles = std::move(*facts);
    engine_->apply(session, 1, FrameType::kExport, std::move(request));
  }
  void acquire(core::SessionId session, std::uint64_t request_id, std::uint32_t owner) {
    core::AcquireRequest request;
    request.target = core::NameRef{"w", owner};
    request.access = core::Access::kRead;
    request.max_handles = 10;
    engine_->apply(session, request_id, FrameType::kAcquire, std::move(request));
  }
  // Runs what closer threads posted until `condition` holds.
  template <class Condition>
  bool run_until(Condition condition) {
    return poll_until([&] {
      io_.restart();
      io_.poll();
      return condition();
    });
  }
  void finish() {  // sessions end, every descriptor is closed
    for (const core::SessionId session : sessions_) engine_->disconnect(session);
    EXPECT_TRUE(run_until([&] { return engine_->has_room(4096 - 10 - limits::fd_reserve(4096)); }))
        << "the budget is back at its base";
    EXPECT_EQ(engine_->handles().size(), 0u);
  }

  boost::asio::io_context io_{1};
  std::unique_ptr<ipc::Engine> engine_;
  std::vector<core::SessionId> sessions_;
};

TEST_F(EngineTest, WithdrawIsAnsweredAfterTheClose) {
  FakeRecipient owner;
  sessions_ = {connect(owner, 1001)};
  UniqueFd memory = sealed_memfd(kPage, 1);
  const ino_t inode = [&] {
    struct stat s {};
    ::fstat(memory.get(), &s);
    return s.st_ino;
  }();
  export_memory(sessions_[0], std::move(memory), 1002);
  ASSERT_EQ(owner.got.size(), 1u);
  ASSERT_EQ(owner.got[0].header.type, FrameType::kExport);
  EXPECT_EQ(engine_->handles().size(), 1u);
  core::WithdrawRequest request;
  request.all = true;
  engine_->apply(sessions_[0], 2, FrameType::kWithdraw, std::move(request));
  EXPECT_EQ(owner.got.size(), 1u) << "not before the loop hears of the close";
  EXPECT_EQ(engine_->handles().size(), 0u);
  ASSERT_TRUE(run_until([&] { return owner.got.size() == 2; }));
  EXPECT_EQ(owner.got[1].header.type, FrameType::kWithdraw);
  for (int fd = 3; fd < 64; ++fd) {
    struct stat s {};
    EXPECT_FALSE(::fstat(fd, &s) == 0 && s.st_ino == inode) << "still open";
  }
  finish();
}

// Who waits for holders may be answered while the memory is still being closed: not before it is.
TEST_F(EngineTest, AWithdrawalThatWaitedIsAnsweredAfterTheCloseToo) {
  FakeRecipient owner;
  FakeRecipient reader;
  sessions_ = {connect(owner, 1001), connect(reader, 1002)};
  export_memory(sessions_[0], sealed_memfd(kPage, 1), 1002);
  acquire(sessions_[1], 1, 1001);
  v1::AcquireReply held;
  ASSERT_TRUE(held.ParseFromString(reader.got.at(0).body));
  core::WithdrawRequest request;
  request.target = core::NameRef{"w", std::nullopt};
  request.wait_ns = UINT64_MAX;
  engine_->apply(sessions_[0], 2, FrameType::kWithdraw, std::move(request));
  engine_->apply(sessions_[1], 0, FrameType::kRelease, core::ReleaseRequest{core::LeaseId{held.lease_id()}});
  EXPECT_EQ(owner.got.size(), 1u) << "the loop has not heard of the close";
  ASSERT_TRUE(run_until([&] { return owner.got.size() == 2; }));
  v1::WithdrawReply reply;
  ASSERT_TRUE(reply.ParseFromString(owner.got[1].body));
  EXPECT_EQ(reply.withdrawn(), 1u);
  EXPECT_EQ(reply.holder_count(), 0u);
  // With nothing on its way to be closed there is nothing to wait for.
  core::WithdrawRequest none;
  none.all = true;
  engine_->apply(sessions_[0], 3, FrameType::kWithdraw, std::move(none));
  EXPECT_EQ(owner.got.size(), 3u);
  finish();
}

// A reader that may only read gets no more by a refresh than by its acquire.
TEST_F(EngineTest, ARefreshFindsOutTheReadOnlyLevelOfWhatIsNew) {
  const std::uint32_t me = ::geteuid();
  FakeRecipient owner;
  FakeRecipient reader;
  sessions_ = {connect(owner, me), connect(reader, 1002)};
  const auto readable = [&](std::uint64_t seed) {
    UniqueFd memory = sealed_memfd(kPage, seed);
    EXPECT_EQ(::fchmod(memory.get(), 0444), 0);
    return memory;
  };
  export_memory(sessions_[0], readable(1), 1002, 2 * kPage);
  acquire(sessions_[1], 1, me);
  v1::AcquireReply held;
  ASSERT_TRUE(held.ParseFromString(reader.got.at(0).body));
  EXPECT_EQ(held.level(), static_cast<std::uint32_t>(core::Level::kPerReader));
  std::vector<UniqueFd> fds;
  fds.push_back(readable(2));
  auto facts = engine_->admit(std::move(fds), ipc::Payer{{}, me});
  ASSERT_TRUE(facts);
  core::ChangeRequest change;
  change.id = core::ExportId{held.export_id()};
  change.kind = core::ChangeRequest::Kind::kAppend;
  change.total_chunks = 1;
  change.total_size = kPage;
  change.distinct_handles = 1;
  core::NewChunk chunk;
  chunk.handle = 0;
  chunk.size = kPage;
  change.chunks = {chunk};
  change.handles = std::move(*facts);
  engine_->apply(sessions_[0], 2, FrameType::kChange, std::move(change));
  ASSERT_EQ(owner.got.back().header.type, FrameType::kChange);
  engine_->apply(sessions_[1], 2, FrameType::kRefresh,
                 core::RefreshRequest{core::LeaseId{held.lease_id()}, 1, {}});
  v1::RefreshReply grown;
  ASSERT_EQ(reader.got.back().header.type, FrameType::kRefresh);
  ASSERT_TRUE(grown.ParseFromString(reader.got.back().body));
  EXPECT_EQ(grown.grant().length(), 2 * kPage);
  EXPECT_EQ(grown.grant().level(), static_cast<std::uint32_t>(core::Level::kPerReader));
  engine_->apply(sessions_[1], 3, FrameType::kFetch,
                 core::FetchRequest{core::LeaseId{held.lease_id()}, 1, 10});
  ASSERT_EQ(reader.got.back().header.type, FrameType::kFetch);
  ASSERT_EQ(reader.got.back().handles.size(), 1u);
  EXPECT_TRUE(reader.got.back().handles[0].read_only);
  EXPECT_NE(engine_->handles().get_read_only(reader.got.back().handles[0].id), nullptr);
  finish();
}

TEST_F(EngineTest, ReadOnlyLevelsAreCheckedAtEveryGrant) {
  const std::uint32_t me = ::geteuid();  // the file's owner
  FakeRecipient owner;
  FakeRecipient reader;
  sessions_ = {connect(owner, me), connect(reader, 1002)};
  UniqueFd memory = sealed_memfd(kPage, 1);
  const UniqueFd mine = memory.duplicate();
  export_memory(sessions_[0], std::move(memory), 1002);
  const auto level_of = [&](std::uint64_t request_id) {
    acquire(sessions_[1], request_id, me);
    v1::AcquireReply reply;
    EXPECT_EQ(reader.got.back().header.type, FrameType::kAcquire);
    EXPECT_TRUE(reply.ParseFromString(reader.got.back().body));
    return static_cast<core::Level>(reply.level());
  };
  ASSERT_EQ(::fchmod(mine.get(), 0777), 0);
  EXPECT_EQ(level_of(1), core::Level::kIntent) << "mode 0777: the reader could open it for writing";
  ASSERT_EQ(::fchmod(mine.get(), 0444), 0);
  EXPECT_EQ(level_of(2), core::Level::kPerReader);
  EXPECT_TRUE(reader.got.back().handles.at(0).read_only);
  EXPECT_NE(engine_->handles().get_read_only(reader.got.back().handles.at(0).id), nullptr);
  ASSERT_EQ(::fchmod(mine.get(), 0466), 0);
  EXPECT_EQ(level_of(3), core::Level::kIntent) << "the mode was changed back";
  acquire(sessions_[0], 2, me);
  v1::AcquireReply own;
  ASSERT_TRUE(own.ParseFromString(owner.got.back().body));
  EXPECT_EQ(own.level(), static_cast<std::uint32_t>(core::Level::kIntent)) << "the owner's own uid";
  finish();
}

TEST_F(EngineTest, OneBadDescriptorAndNoneIsKept) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
  const UniqueFd write(ends[1]);
  std::vector<UniqueFd> fds;
  fds.push_back(sealed_memfd(kPage, 1));
  fds.push_back(UniqueFd(ends[0]));
  fds.push_back(sealed_memfd(kPage, 2));
  const auto admitted = engine_->admit(std::move(fds), ipc::Payer{{}, 1001});
  ASSERT_FALSE(admitted);
  EXPECT_EQ(admitted.error().index, 1u);
  EXPECT_NE(admitted.error().reason.find("pipe"), std::string::npos);
  finish();
}

TEST_F(EngineTest, WaitingAnswersLearnThatTheirHandleEnded) {
  FakeRecipient owner;
  FakeRecipient reader;
  sessions_ = {connect(owner, 1001), connect(reader, 1002)};
  export_memory(sessions_[0], sealed_memfd(kPage, 1), 1002);
  acquire(sessions_[1], 1, 1001);
  ASSERT_EQ(reader.got.size(), 1u);
  engine_->set_backlogged(reader, true);
  engine_->disconnect(sessions_[0]);
  EXPECT_EQ(reader.dropped, std::vector{reader.got[0].handles.at(0).id});
  const auto gone = decode_frame(reader.gone_frame);
  ASSERT_TRUE(gone);
  EXPECT_EQ(gone->header.type, FrameType::kError);
  EXPECT_EQ(gone->header.request_id, 5u);
  ASSERT_FALSE(reader.words.empty());
  EXPECT_EQ(reader.words[0], 0u) << "the cached import is invalid by now";
  finish();
}

// The level of a reader that waited for the name is found out when the name is there.
TEST_F(EngineTest, AWaiterGetsItsReadOnlyLevel) {
  const std::uint32_t me = ::geteuid();
  FakeRecipient owner;
  FakeRecipient reader;
  sessions_ = {connect(owner, me), connect(reader, 1002)};
  core::AcquireRequest request;
  request.target = core::NameRef{"w", me};
  request.access = core::Access::kRead;
  request.max_handles = 10;
  request.wait_ns = UINT64_MAX;
  request.demand = core::Level::kPerReader;
  engine_->apply(sessions_[1], 1, FrameType::kAcquire, std::move(request));
  EXPECT_TRUE(reader.got.empty());
  UniqueFd memory = sealed_memfd(kPage, 1);
  ASSERT_EQ(::fchmod(memory.get(), 0444), 0);
  export_memory(sessions_[0], std::move(memory), 1002);
  ASSERT_EQ(reader.got.size(), 1u);
  v1::AcquireReply reply;
  ASSERT_EQ(reader.got[0].header.type, FrameType::kAcquire);
  EXPECT_EQ(reader.got[0].header.request_id, 1u);
  ASSERT_TRUE(reply.ParseFromString(reader.got[0].body));
  EXPECT_EQ(reply.level(), static_cast<std::uint32_t>(core::Level::kPerReader));
  EXPECT_TRUE(reader.got[0].handles.at(0).read_only);
  EXPECT_NE(engine_->handles().get_read_only(reader.got[0].handles.at(0).id), nullptr);
  finish();
}

TEST_F(EngineTest, AWaitEndsAtItsDeadline) {
  FakeRecipient reader;
  sessions_ = {connect(reader, 1002)};
  core::AcquireRequest request;
  request.target = core::NameRef{"later", std::nullopt};
  request.access = core::Access::kRead;
  request.wait_ns = 1'000'000;
  engine_->apply(sessions_[0], 1, FrameType::kAcquire, std::move(request));
  ASSERT_TRUE(run_until([&] { return reader.got.size() == 1; }));
  v1::Error error;
  ASSERT_EQ(reader.got[0].header.type, FrameType::kError);
  ASSERT_TRUE(error.ParseFromString(reader.got[0].body));
  EXPECT_EQ(error.status(), HB_TIMEOUT);
  finish();
}

}  // namespace
}  // namespace hb::test
