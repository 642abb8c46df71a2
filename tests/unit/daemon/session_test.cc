// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// A session's way out, over a real socket: its doorbell, and which descriptors travel.
#include "ipc/session.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <memory>

#include "hipbroker/v1/broker.pb.h"
#include "support/memfd.h"
#include "support/wait.h"
#include "wire/limits.h"
#include "wire/packet_socket.h"

namespace hb::test {
namespace {

namespace v1 = hipbroker::v1;

class FakeHost : public ipc::SessionHost {
 public:
  ipc::Administration* administration() override { return nullptr; }
  restart::Inbox& inbox() override { return inbox_; }
  ipc::RequestReader& reader() override { return reader_; }
  void log_fault(const observe::Who&, const std::string& text) override { faults += text + "\n"; }
  void log_refusal(const observe::Who&, const std::string&) override {}
  void session_ended(ipc::Session&) override {}
  void socket_closed(const ipc::Payer&) override { closed = true; }
  std::string faults;
  bool closed = false;

 private:
  restart::Inbox inbox_;
  ipc::RequestReader reader_;
};

// For sessions whose answers do not matter here.
class Deaf : public ipc::Recipient {
 public:
  ipc::Unanswered::Who who() const override { return {}; }
  void deliver(const ipc::OutFrame& frame) override {
    handles.assign(frame.handles.begin(), frame.handles.end());
  }
  void set_validity(std::uint32_t, std::uint32_t) override {}
  void drop_handles(std::span<const core::HandleId>, const ipc::Outbox::GoneFrame&) override {}
  void subscribe(const ipc::OutFrame&) override {}
  void ring() override {}
  void refuse(std::uint64_t, const ipc::EdgeError&) override {}
  [[nodiscard]] bool outlives() const override { return false; }
  std::vector<ipc::OutHandle> handles;
};

class SessionTest : public testing::Test {
 protected:
  static constexpr std::uint64_t kLimit = 4096;
  struct Packet {
    FrameHeader header;
    std::string body;
    std::vector<UniqueFd> fds;
  };

  SessionTest() {
    core::BrokerConfig config;
    config.fd_limit = kLimit;
    config.fd_base = 10;
    engine_ = std::make_unique<ipc::Engine>(io_, config, std::vector<os::DriverRule>{});
    std::array<int, 2> ends{-1, -1};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends.data()), 0);
    client_ = UniqueFd(ends[0]);
    UniqueFd socket(ends[1]);
    UniqueFd pidfd;
    session_ = std::make_shared<ipc::Session>(io_, *engine_, host_, os::PeerCredentials{}, ipc::Door{});
    EXPECT_TRUE(session_->adopt(socket, pidfd));
    engine_->note_fds(static_cast<std::int64_t>(engine_->config().fds_per_session));  // as the server does
  }
  ~SessionTest() override {
    session_->end("the test is over");
    EXPECT_TRUE(run_until([&] { return host_.closed; }));
    EXPECT_TRUE(back_at_base());
  }

  std::uint64_t room() const {
    std::uint64_t fds = kLimit;
    while (fds > 0 && !engine_->has_room(fds)) --fds;
    return fds;
  }
  // Once the closer threads are through.
  bool back_at_base() {
    return run_until([&] { return room() == kLimit - 10 - limits::fd_reserve(kLimit); });
  }
  template <class Condition>
  bool run_until(Condition condition) {
    return poll_until([&] {
      io_.restart();
      io_.poll();
      return condition();
    });
  }
  void subscribe(std::uint64_t request_id) {
    const core::Reply reply{core::SessionId{1}, request_id, static_cast<std::uint16_t>(FrameType::kSubscribe),
                            false, core::Subscribed{}};
    session_->subscribe({request_id, engine_->writer().reply(reply, {}), {}});
  }
  Packet receive() {
    std::vector<std::byte> buffer(limits::kFrameBytes);
    Received received;
    EXPECT_TRUE(run_until([&] {
      auto got = receive_packet(client_.get(), buffer);
      EXPECT_TRUE(got);
      if (got) received = std::move(*got);
      return received.outcome != ReceiveOutcome::kWouldBlock;
    }));
    EXPECT_EQ(received.outcome, ReceiveOutcome::kPacket);
    const auto frame = decode_frame(std::span(buffer).first(received.bytes));
    EXPECT_TRUE(frame);
    if (!frame) return {};
    EXPECT_EQ(frame->header.fd_count, received.fds.size());
    return {frame->header, std::string(reinterpret_cast<const char*>(frame->body.data()), frame->body.size()),
            std::move(received.fds)};
  }
  UniqueFd subscribed(std::uint64_t request_id) {
    subscribe(request_id);
    Packet packet = receive();
    EXPECT_EQ(packet.header.type, FrameType::kSubscribe);
    EXPECT_EQ(packet.header.request_id, request_id);
    if (packet.fds.size() != 1) {
      ADD_FAILURE() << packet.fds.size() << " descriptors";
      return {};
    }
    return std::move(packet.fds[0]);
  }
  void expect_no_fds(std::uint64_t request_id) {
    const Packet packet = receive();
    ASSERT_EQ(packet.header.type, FrameType::kError);
    EXPECT_EQ(packet.header.request_id, request_id);
    EXPECT_TRUE(packet.fds.empty());
    v1::Error error;
    ASSERT_TRUE(error.ParseFromString(packet.body));
    EXPECT_EQ(error.status(), HB_NO_FDS) << error.message();
    EXPECT_EQ(error.what(), "RLIMIT_NOFILE");
    EXPECT_EQ(error.limit(), kLimit);
    EXPECT_NE(error.message().find("the socket that tells of events could not be made"), std::string::npos);
  }
  // 1 byte, 0 at the end, -1 where there is nothing to read.
  static ssize_t heard(const UniqueFd& doorbell) {
    char bytes[16];
    return ::recv(doorbell.get(), bytes, sizeof bytes, MSG_DONTWAIT);
  }

  boost::asio::io_context io_{1};
  FakeHost host_;
  std::unique_ptr<ipc::Engine> engine_;
  UniqueFd client_;
  std::shared_ptr<ipc::Session> session_;
};

TEST_F(SessionTest, SubscribeBringsADoorbellThatRings) {
  session_->ring();  // nobody subscribed: nothing
  const std::uint64_t before = room();
  const UniqueFd doorbell = subscribed(42);
  EXPECT_EQ(room(), before - 1) << "the daemon keeps one end";
  EXPECT_EQ(heard(doorbell), -1);
  session_->ring();
  session_->ring();
  EXPECT_EQ(heard(doorbell), 1);
  EXPECT_EQ(heard(doorbell), -1);
  session_->end("over");
  EXPECT_EQ(heard(doorbell), 0) << "the end of the session is heard";
}

TEST_F(SessionTest, ANewDoorbellTakesThePlaceOfTheOld) {
  const UniqueFd first = subscribed(1);
  const std::uint64_t with_one = room();
  session_->ring();
  const UniqueFd second = subscribed(2);
  EXPECT_EQ(room(), with_one);
  EXPECT_EQ(heard(second), 1) << "what the first rang for may not have been taken";
  EXPECT_EQ(heard(first), 1);
  EXPECT_EQ(heard(first), 0);
  session_->ring();
  EXPECT_EQ(heard(second), 1);
}

TEST_F(SessionTest, ADoorbellThatTheClientClosedIsGivenBack) {
  const std::uint64_t before = room();
  UniqueFd doorbell = subscribed(1);
  doorbell.reset();
  session_->ring();
  EXPECT_EQ(room(), before);
  session_->ring();
  EXPECT_EQ(room(), before) << "once";
  EXPECT_NE(session_->state(), ipc::SessionState::kFailing);
}

TEST_F(SessionTest, WithoutRoomThereIsNoDoorbell) {
  const auto all = static_cast<std::int64_t>(room());
  engine_->note_fds(all);
  subscribe(7);
  engine_->note_fds(-all);
  expect_no_fds(7);
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit none = before;
  none.rlim_cur = static_cast<rlim_t>(UniqueFd(::dup(0)).get());  // the lowest free number
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  subscribe(8);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  expect_no_fds(8);
  EXPECT_EQ(room(), static_cast<std::uint64_t>(all));
  EXPECT_EQ(heard(subscribed(9)), -1) << "asking again is the way out";
}

// The answer waits for the reader, its descriptor with it.
TEST_F(SessionTest, ADoorbellWaitsForASlowReader) {
  const std::string payload(60'000, 'p');
  constexpr std::uint64_t kPings = 6;
  for (std::uint64_t id = 1; id <= kPings; ++id)
    session_->deliver({id, engine_->writer().ping(id, payload, 0), {}});
  subscribe(7);
  session_->ring();
  for (std::uint64_t id = 1; id <= kPings; ++id) EXPECT_EQ(receive().header.request_id, id);
  const Packet packet = receive();
  EXPECT_EQ(packet.header.request_id, 7u);
  ASSERT_EQ(packet.fds.size(), 1u);
  EXPECT_EQ(heard(packet.fds[0]), 1);
}

// A page of a change is taken as an export's is: whole, or the chunk is named.
TEST_F(SessionTest, ABadDescriptorOfAChangeIsNamedByItsChunk) {
  const auto send = [&](FrameType type, std::uint64_t request_id,
                        const google::protobuf::MessageLite& message, std::vector<int> fds) {
    const std::string body = message.SerializeAsString();
    std::array<std::byte, kFrameHeaderBytes> head{};
    encode_frame_header(head, {type, 0, static_cast<std::uint16_t>(fds.size()), request_id},
                        static_cast<std::uint32_t>(body.size()));
    const auto sent =
        send_packet(client_.get(), head, std::as_bytes(std::span(body.data(), body.size())), fds);
    ASSERT_TRUE(sent && *sent == SendOutcome::kSent);
  };
  session_->start();
  v1::Hello hello;
  hello.set_lowest_version(1);
  hello.set_highest_version(1);
  send(FrameType::kHello, 1, hello, {});
  ASSERT_EQ(receive().header.type, FrameType::kHello);
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
  const UniqueFd read(ends[0]);
  const UniqueFd write(ends[1]);
  const UniqueFd memory = sealed_memfd(kPage, 1);
  v1::Change change;
  change.set_export_id(5);
  change.set_kind(v1::Change::APPEND);
  for (const std::uint32_t handle : {1u, 1u, 2u}) change.add_chunks()->set_handle(handle);
  send(FrameType::kChange, 2, change, {memory.get(), read.get()});
  const auto error_of = [](const Packet& packet) {
    v1::Error error;
    EXPECT_EQ(packet.header.type, FrameType::kError);
    EXPECT_TRUE(error.ParseFromString(packet.body));
    return error;
  };
  v1::Error error = error_of(receive());
  EXPECT_EQ(error.status(), HB_BAD_HANDLE);
  EXPECT_EQ(error.chunk(), 3u);
  EXPECT_NE(error.message().find("chunk 2: the descriptor is"), std::string::npos) << error.message();
  EXPECT_EQ(engine_->handles().size(), 0u);
  // With good ones the core hears of them and, knowing no such export, lets them go.
  send(FrameType::kChange, 3, change, {memory.get(), memory.get()});
  error = error_of(receive());
  EXPECT_NE(error.status(), HB_BAD_HANDLE) << error.message();
  EXPECT_NE(error.status(), HB_PROTO) << error.message();
  EXPECT_TRUE(run_until([&] { return engine_->handles().size() == 0; }));
}

// One frame brings grants that allow different things.
TEST_F(SessionTest, ReadOnlyIsOfTheHandleNotOfTheFrame) {
  const std::uint32_t me = ::geteuid();  // the file's owner
  Deaf owner;
  Deaf reader;
  const auto connect = [&](ipc::Recipient& recipient, std::uint32_t uid) {
    core::Principal principal;
    principal.uid = principal.gid = uid;
    principal.groups = {uid};
    return engine_->connect(principal, {}, recipient).value();
  };
  const core::SessionId owner_id = connect(owner, me);
  const core::SessionId reader_id = connect(reader, 1002);
  std::vector<UniqueFd> fds;
  fds.push_back(sealed_memfd(kPage, 1));
  ASSERT_EQ(::fchmod(fds[0].get(), 0444), 0);
  core::ExportRequest exported;
  exported.name = "w";
  exported.acl = {{core::AclEntry::Kind::kUid, 1002, core::Access::kRead}};
  exported.total_chunks = exported.distinct_handles = 1;
  exported.total_size = kPage;
  exported.chunks.resize(1);
  exported.chunks[0].handle = 0;
  exported.chunks[0].size = kPage;
  exported.handles = engine_->admit(std::move(fds), ipc::Payer{{}, me}).value();
  engine_->apply(owner_id, 1, FrameType::kExport, std::move(exported));
  core::AcquireRequest acquire;
  acquire.target = core::NameRef{"w", me};
  acquire.max_handles = 1;
  engine_->apply(reader_id, 1, FrameType::kAcquire, std::move(acquire));
  ASSERT_EQ(reader.handles.size(), 1u);
  ASSERT_TRUE(reader.handles[0].read_only);

  std::array<std::byte, kFrameHeaderBytes> frame{};
  encode_frame_header(frame, {FrameType::kJoin, kFlagReply, 3, 5}, 0);
  const core::HandleId handle = reader.handles[0].id;
  const std::array<ipc::OutHandle, 3> handles{{{handle, false}, {handle, true}, {handle, false}}};
  session_->deliver({5, frame, handles});
  const Packet packet = receive();
  ASSERT_EQ(packet.fds.size(), 3u);
  const auto mode = [&](std::size_t i) { return ::fcntl(packet.fds[i].get(), F_GETFL) & O_ACCMODE; };
  EXPECT_EQ(mode(0), O_RDWR);
  EXPECT_EQ(mode(1), O_RDONLY);
  EXPECT_EQ(mode(2), O_RDWR);

  const std::vector<ipc::OutHandle> too_many(limits::kFrameFds + 1, {handle, false});
  session_->deliver({6, frame, too_many});
  EXPECT_EQ(session_->state(), ipc::SessionState::kFailing);
  EXPECT_NE(host_.faults.find("carries 254 descriptors, a frame 253"), std::string::npos) << host_.faults;
  engine_->disconnect(reader_id);
  engine_->disconnect(owner_id);
}

}  // namespace
}  // namespace hb::test
