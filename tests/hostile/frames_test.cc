// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Frames that no library of ours sends. Each gets an error that says what is wrong, or ends the session it
// came on; the daemon and everybody else go on.
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>
#include <random>

#include "support/fixture.h"
#include "support/memfd.h"
#include "wire/limits.h"

namespace hb::test {
namespace {

class Frames : public DaemonTest {
 protected:
  void SetUp() override {
    DaemonTest::SetUp();
    bystander_ = std::make_unique<RawPeer>(peer());
  }
  void TearDown() override {
    if (bystander_ == nullptr) return;  // the daemon did not start; that has been said
    EXPECT_EQ(bystander_->ping(), HB_OK) << "somebody else's session has to live on";
    bystander_.reset();
    DaemonTest::TearDown();
  }
  // The session must end; an error that comes before must be PROTO.
  static void expect_closed(RawPeer& raw, const std::string& what) {
    for (;;) {
      const RawFrame frame = raw.receive();
      if (frame.outcome == ReceiveOutcome::kEnd) return;
      ASSERT_EQ(frame.outcome, ReceiveOutcome::kPacket) << what << ": neither closed nor answered";
      ASSERT_EQ(frame.header.type, FrameType::kError) << what;
      pb::Error error;
      ASSERT_TRUE(error.ParseFromString(frame.body));
      EXPECT_EQ(error.status(), HB_PROTO) << what << ": " << error.message();
      EXPECT_FALSE(error.message().empty()) << what;
    }
  }
  std::unique_ptr<RawPeer> bystander_;
};

TEST_F(Frames, ZeroBytes) {
  RawPeer raw = peer();
  ASSERT_TRUE(raw.send_bytes(""));
  expect_closed(raw, "an empty packet");
  // With a descriptor it does not even read like the end of the connection.
  RawPeer with_fd = peer();
  const UniqueFd memory = sealed_memfd(kPage, 0);
  ASSERT_TRUE(with_fd.send_bytes("", {memory.get()}));
  expect_closed(with_fd, "an empty packet with a descriptor");
  expect_baseline("after empty packets", 1);
}

TEST_F(Frames, BrokenHeaders) {
  const std::string good = encode({FrameType::kPing, 0, 0, 7}, "");
  struct Case {
    const char* what;
    std::string bytes;
  };
  const auto with = [&](std::size_t at, const std::string& bytes) {
    std::string out = good;
    out.replace(at, bytes.size(), bytes);
    return out;
  };
  const std::string max32 = "\xff\xff\xff\xff";
  for (const Case& one :
       {Case{"one byte", "H"}, Case{"a header cut short", good.substr(0, 23)},
        Case{"another magic", with(0, "hb")}, Case{"a header length of 23", with(2, "\x17")},
        Case{"a header length past the end", with(2, "\xff")},
        Case{"a body longer than what follows", with(16, std::string("\x01\0\0\0", 4))},
        Case{"a body of 2^32-1", with(16, max32)}, Case{"bytes behind the body", good + "x"},
        Case{"254 descriptors announced", with(6, std::string("\xfe\0", 2))},
        Case{"descriptors announced that are not there", with(6, std::string("\x01\0", 2))}}) {
    RawPeer raw = peer();
    raw.send_bytes(one.bytes);
    expect_closed(raw, one.what);
  }
}

TEST_F(Frames, DescriptorsThatWereNotAnnounced) {
  const UniqueFd memory = sealed_memfd(kPage, 0);
  pb::Export body = export_of("x", 1, kPage);
  for (const std::uint16_t announced : {std::uint16_t{0}, std::uint16_t{1}, std::uint16_t{3}}) {
    RawPeer raw = peer();
    raw.send_frame({FrameType::kExport, 0, announced, raw.next_id()}, body.SerializeAsString(),
                   {memory.get(), memory.get()});
    expect_closed(raw, "2 descriptors, " + std::to_string(announced) + " announced");
  }
  for (const FrameType type :
       {FrameType::kPing, FrameType::kAcquire, FrameType::kRelease, FrameType::kList}) {
    RawPeer raw = peer();
    raw.send_frame({type, 0, 1, raw.next_id()}, "", {memory.get()});
    expect_closed(raw, "a descriptor with frame type " + std::to_string(static_cast<int>(type)));
  }
  // Before the hello.
  RawPeer early(daemon().socket());
  early.send_frame({FrameType::kExport, 0, 1, 1}, body.SerializeAsString(), {memory.get()});
  expect_closed(early, "an export before the hello");
  expect_baseline("after the descriptors were refused", 1);
}

TEST_F(Frames, TooLong) {
  RawPeer raw = peer();
  const UniqueFd memory = sealed_memfd(kPage, 0);
  pb::Ping body;
  body.set_payload(std::string(limits::kFrameBytes, 'x'));
  raw.send_frame({FrameType::kPing, 0, 1, raw.next_id()}, body.SerializeAsString(), {memory.get()});
  expect_closed(raw, "more than a frame");
  expect_baseline("after MSG_TRUNC with a descriptor", 1);
  // The longest that is allowed.
  RawPeer fits = peer();
  const auto answer = fits.call<pb::PingReply>(FrameType::kPing, [] {
    pb::Ping longest;
    longest.set_payload(std::string(limits::kPingBytes, 'y'));
    return longest;
  }());
  EXPECT_EQ(answer.status, HB_OK);
  EXPECT_EQ(answer.reply.payload().size(), limits::kPingBytes);
}

TEST_F(Frames, HelloOutOfPlace) {
  RawPeer silent(daemon().socket());
  silent.send(FrameType::kPing, pb::Ping());
  expect_closed(silent, "a ping before the hello");
  RawPeer twice = peer();
  twice.send(FrameType::kHello, pb::Hello());
  expect_closed(twice, "a second hello");
  RawPeer future(daemon().socket());
  pb::Hello hello;
  hello.set_lowest_version(7);
  hello.set_highest_version(9);
  const auto answer = future.call<pb::HelloReply>(FrameType::kHello, hello);
  EXPECT_EQ(answer.status, HB_VERSION);
  EXPECT_NE(answer.error.message().find("7"), std::string::npos) << answer.error.message();
  EXPECT_NE(answer.error.message().find("9"), std::string::npos) << answer.error.message();
  EXPECT_NE(answer.error.message().find("1"), std::string::npos) << answer.error.message();
  EXPECT_TRUE(future.ends());
}

TEST_F(Frames, ABodyThatDoesNotParse) {
  for (const FrameType type : {FrameType::kExport, FrameType::kAcquire, FrameType::kWithdraw,
                               FrameType::kList, FrameType::kShow, FrameType::kWho, FrameType::kFetch}) {
    RawPeer raw = peer();
    raw.send_frame({type, 0, 0, raw.next_id()}, "\x0a\xff\xff\xff\xff\x7f");  // a field of 2^35 bytes
    expect_closed(raw, "frame type " + std::to_string(static_cast<int>(type)));
  }
}

TEST_F(Frames, AnUnknownTypeIsAnsweredAndTheSessionGoesOn) {
  RawPeer raw = peer();
  const std::uint64_t id = raw.next_id();
  raw.send_frame({static_cast<FrameType>(4242), 0, 0, id}, "");
  EXPECT_EQ(raw.await<pb::PingReply>(id).status, HB_UNSUPPORTED);
  EXPECT_EQ(raw.ping(), HB_OK);
}

TEST_F(Frames, LongerHeadersAndUnknownFieldsAreSkipped) {
  RawPeer raw = peer();
  pb::Ping body;
  body.set_payload("p");
  const std::uint64_t id = raw.next_id();
  std::string bytes = encode({FrameType::kPing, 0, 0, id}, body.SerializeAsString() +
                                                               "\xfa\x3f\x03"
                                                               "new");
  bytes.insert(kFrameHeaderBytes, 8, '\x55');
  bytes[2] = kFrameHeaderBytes + 8;
  raw.send_bytes(bytes);
  const auto answer = raw.await<pb::PingReply>(id);
  EXPECT_EQ(answer.status, HB_OK);
  EXPECT_EQ(answer.reply.payload(), "p");
}

// One control message without room for what it says, as a hand-written client would send it.
TEST_F(Frames, OddControlData) {
  RawPeer raw = peer();
  const UniqueFd memory = sealed_memfd(kPage, 0);
  std::string frame =
      encode({FrameType::kExport, 0, 2, raw.next_id()}, export_of("x", 2, kPage).SerializeAsString());
  iovec io{frame.data(), frame.size()};
  alignas(cmsghdr) char control[2 * CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &io;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  // Two SCM_RIGHTS headers of one descriptor each: the kernel merges them, the receiver must take both.
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  for (int i = 0; i < 2; ++i, header = CMSG_NXTHDR(&message, header)) {
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    const int fd = memory.get();
    std::memcpy(CMSG_DATA(header), &fd, sizeof fd);
  }
  ASSERT_GT(::sendmsg(raw.fd(), &message, MSG_NOSIGNAL), 0);
  const RawFrame answer = raw.receive();
  ASSERT_EQ(answer.outcome, ReceiveOutcome::kPacket);
  EXPECT_EQ(answer.header.type, FrameType::kExport);
  // Credentials beside the frame are nobody's business here.
  std::string ping = encode({FrameType::kPing, 0, 0, raw.next_id()}, "");
  io = {ping.data(), ping.size()};
  alignas(cmsghdr) char credentials[CMSG_SPACE(sizeof(ucred))] = {};
  message.msg_control = credentials;
  message.msg_controllen = sizeof credentials;
  header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_CREDENTIALS;
  header->cmsg_len = CMSG_LEN(sizeof(ucred));
  const ucred own{::getpid(), ::geteuid(), ::getegid()};
  std::memcpy(CMSG_DATA(header), &own, sizeof own);
  ASSERT_GT(::sendmsg(raw.fd(), &message, MSG_NOSIGNAL), 0);
  EXPECT_EQ(raw.receive().header.type, FrameType::kPing);
  EXPECT_EQ(raw.ping(), HB_OK);
}

TEST_F(Frames, B13_TenThousandGarbageFrames) {
  std::minstd_rand random(4711);
  const UniqueFd memory = sealed_memfd(kPage, 0);
  const auto hello = [] {
    pb::Hello body;
    body.set_lowest_version(1);
    body.set_highest_version(1);
    return body;
  }();
  std::vector<std::string> valid;
  {
    pb::Acquire acquire;
    acquire.mutable_target()->set_key(std::string(64, 'k'));
    acquire.set_access(1);
    pb::Who who;
    who.mutable_target()->mutable_name()->set_name("x");
    pb::Withdraw withdraw;
    withdraw.mutable_target()->set_export_id(1);
    pb::Fetch fetch;
    fetch.set_lease_id(1);
    pb::List list;
    list.set_prefix("p");
    valid = {encode({FrameType::kExport, 0, 1, 9}, export_of("x", 1, kPage).SerializeAsString()),
             encode({FrameType::kAcquire, 0, 0, 9}, acquire.SerializeAsString()),
             encode({FrameType::kWho, 0, 0, 9}, who.SerializeAsString()),
             encode({FrameType::kWithdraw, 0, 0, 9}, withdraw.SerializeAsString()),
             encode({FrameType::kFetch, 0, 0, 9}, fetch.SerializeAsString()),
             encode({FrameType::kList, 0, 0, 9}, list.SerializeAsString()),
             encode({FrameType::kHello, 0, 0, 9}, hello.SerializeAsString())};
  }
  std::unique_ptr<RawPeer> raw;
  int sessions = 0;
  for (int i = 0; i < 10'000; ++i) {
    if (raw == nullptr) {
      raw = std::make_unique<RawPeer>(daemon().socket());
      if (random() % 8 != 0) {
        ASSERT_EQ(raw->hello().status, HB_OK);
      }
      ++sessions;
    }
    std::string bytes;
    if (random() % 2 == 0) {
      bytes.resize(random() % 300);
      for (char& c : bytes) c = static_cast<char>(random());
      if (bytes.size() > kFrameHeaderBytes && random() % 2 == 0) bytes.replace(0, 3, "HB\x18");
    } else {
      bytes = valid[random() % valid.size()];
      for (auto flips = 1 + random() % 4; flips > 0; --flips)
        bytes[random() % bytes.size()] ^= static_cast<char>(1u << (random() % 8));
    }
    const std::vector<int> fds(random() % 4 == 0 ? 1 + random() % 3 : 0, memory.get());
    // A frame that happens to be good is answered or has no answer; one that is not ends the session. The
    // ping behind it tells which.
    if (!raw->send_bytes(bytes, fds)) {
      raw.reset();
      continue;
    }
    if (i % 100 == 99) {
      ASSERT_EQ(bystander_->ping(), HB_OK) << "after " << i << " frames";
    }
    if (raw->ping() == HB_CLOSED) raw.reset();
  }
  raw.reset();
  EXPECT_GT(sessions, 1'000);
  expect_baseline("after ten thousand garbage frames", 1);
  EXPECT_EQ(peer().list().reply.exports_size(), 0);
}

}  // namespace
}  // namespace hb::test
