// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// A daemon that does what the test says: the other end of a session, by hand or by script.
#pragma once

#include <google/protobuf/message_lite.h>

#include <string>
#include <thread>
#include <vector>

#include "hipbroker/v1/broker.pb.h"
#include "wire/frame.h"
#include "wire/unique_fd.h"

namespace hb::test {

namespace pb = hipbroker::v1;

struct PeerFrame {
  bool ended = false;
  FrameHeader header;
  std::string body;
  std::vector<UniqueFd> fds;
};

class FakePeer {
 public:
  explicit FakePeer(UniqueFd socket) : socket_(std::move(socket)) {}
  [[nodiscard]] int fd() const { return socket_.get(); }
  // The next frame; waits for it. `ended`: EOF, or nothing within the watchdog's time.
  PeerFrame receive();
  // As receive(), and it must be of this type.
  PeerFrame expect(FrameType type);
  void reply(const PeerFrame& request, const google::protobuf::MessageLite& body,
             const std::vector<int>& fds = {});
  void send(FrameHeader header, const std::string& body, const std::vector<int>& fds = {});
  void refuse(const PeerFrame& request, const pb::Error& error);
  void answer_hello();
  void answer_share_page(std::uint32_t word);
  void hang_up() { socket_.reset(); }

 private:
  UniqueFd socket_;
};

// A connected pair: the session's end and the peer's.
struct Ends {
  UniqueFd session;
  FakePeer peer;
};
[[nodiscard]] Ends connected_ends();

// Listens on a path as a daemon would.
class FakeListener {
 public:
  explicit FakeListener(const std::string& path);
  [[nodiscard]] FakePeer accept();
  // A connection waits to be accepted.
  [[nodiscard]] bool has_connection() const;

 private:
  UniqueFd socket_;
};

[[nodiscard]] pb::AcquireReply one_chunk_grant(std::uint64_t lease, std::uint64_t bytes);

}  // namespace hb::test
