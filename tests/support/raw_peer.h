// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// A client that can do what the library never would: any bytes, any descriptors, any header. It speaks
// through proto/wire and the generated messages, not through the library.
#pragma once

#include <google/protobuf/message_lite.h>

#include <optional>
#include <string>
#include <vector>

#include "hipbroker/status.h"
#include "hipbroker/v1/broker.pb.h"
#include "support/wait.h"
#include "wire/frame.h"
#include "wire/key.h"
#include "wire/packet_socket.h"
#include "wire/unique_fd.h"

namespace hb::test {

namespace pb = hipbroker::v1;

struct RawFrame {
  ReceiveOutcome outcome = ReceiveOutcome::kEnd;  // kWouldBlock: nothing came before the limit
  FrameHeader header;
  std::string body;
  std::vector<UniqueFd> fds;
};

template <class Reply>
struct RawAnswer {
  bool ended = false;  // the daemon closed the session
  hb_status status = HB_INTERNAL;
  pb::Error error;
  Reply reply;
  std::vector<UniqueFd> fds;
};

class RawPeer {
 public:
  // Connects; no hello. Throws when the socket does not take the connection.
  explicit RawPeer(const std::string& socket_path);
  RawPeer(RawPeer&&) = default;
  RawPeer& operator=(RawPeer&&) = default;
  static bool try_hello(const std::string& socket_path);

  [[nodiscard]] int fd() const { return socket_.get(); }
  void disconnect() { socket_.reset(); }
  [[nodiscard]] std::uint64_t next_id() { return ++last_id_; }

  // One packet. False with errno when the kernel refuses it; waits while the daemon's queue is full.
  bool send_bytes(const std::string& bytes, const std::vector<int>& fds = {});
  bool send_frame(FrameHeader header, const std::string& body, const std::vector<int>& fds = {});
  // With the next request id, which is returned.
  std::uint64_t send(FrameType type, const google::protobuf::MessageLite& body,
                     const std::vector<int>& fds = {});
  void send_one_way(FrameType type, const google::protobuf::MessageLite& body);

  RawFrame receive(std::uint64_t limit_ns = kWatchdogNs);
  // True when the daemon closes the connection before the limit; frames that come first are dropped.
  bool ends(std::uint64_t limit_ns = kWatchdogNs);

  template <class Reply>
  RawAnswer<Reply> await(std::uint64_t request_id) {
    RawAnswer<Reply> answer;
    for (;;) {
      RawFrame frame = receive();
      if (frame.outcome != ReceiveOutcome::kPacket) {
        answer.ended = true;
        return answer;
      }
      if (frame.header.request_id != request_id) continue;  // an event, or a late answer
      answer.fds = std::move(frame.fds);
      if (frame.header.type == FrameType::kError) {
        answer.error.ParseFromString(frame.body);
        answer.status = answer.error.status();
      } else if (answer.reply.ParseFromString(frame.body)) {
        answer.status = HB_OK;
      }
      return answer;
    }
  }
  template <class Reply>
  RawAnswer<Reply> call(FrameType type, const google::protobuf::MessageLite& body,
                        const std::vector<int>& fds = {}) {
    return await<Reply>(send(type, body, fds));
  }

  RawAnswer<pb::HelloReply> hello(const std::vector<std::string>& features = {});
  RawAnswer<pb::ExportReply> export_fds(const std::string& name, const std::vector<int>& fds,
                                        std::uint64_t chunk_bytes = 4096,
                                        const std::vector<pb::AclEntry>& acl = {});
  RawAnswer<pb::AcquireReply> acquire(const std::string& key, std::uint32_t access = 1,
                                      std::uint32_t max_handles = 253);
  RawAnswer<pb::AcquireReply> acquire_name(const std::string& name, std::uint32_t access = 1,
                                           std::optional<std::uint32_t> owner = {},
                                           std::uint32_t max_handles = 253);
  RawAnswer<pb::WithdrawReply> withdraw_id(std::uint64_t export_id);
  void release(std::uint64_t lease_id);
  RawAnswer<pb::ListReply> list(const std::string& prefix = {});
  RawAnswer<pb::StatusReply> status();
  hb_status ping();  // HB_CLOSED when the session has ended

 private:
  UniqueFd socket_;
  std::uint64_t last_id_ = 0;
};

// An export of `fds.size()` chunks of `chunk_bytes`, chunk i being the whole of descriptor i.
[[nodiscard]] pb::Export export_of(const std::string& name, std::size_t fds, std::uint64_t chunk_bytes);
[[nodiscard]] pb::AclEntry acl_uid(std::uint32_t uid, std::uint32_t access);
[[nodiscard]] std::string encode(FrameHeader header, const std::string& body);
[[nodiscard]] std::vector<int> borrow(const std::vector<UniqueFd>& fds);

}  // namespace hb::test
