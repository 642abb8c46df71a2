// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "support/raw_peer.h"

#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>

#include "wire/limits.h"

namespace hb::test {
namespace {

UniqueFd connect_to(const std::string& path) {
  UniqueFd socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (!socket || path.size() >= sizeof address.sun_path) return {};
  std::memcpy(address.sun_path, path.data(), path.size());
  int result;
  do {
    result = ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address);
  } while (result != 0 && errno == EINTR);
  if (result != 0) return {};
  return socket;
}

// A packet of no bytes, which send_packet() refuses to make.
bool send_empty(int socket, const std::vector<int>& fds) {
  msghdr message{};
  std::vector<char> control(fds.empty() ? 0 : CMSG_SPACE(fds.size() * sizeof(int)));
  if (!fds.empty()) {
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(fds.size() * sizeof(int));
    std::memcpy(CMSG_DATA(header), fds.data(), fds.size() * sizeof(int));
  }
  return ::sendmsg(socket, &message, MSG_NOSIGNAL) == 0;
}

}  // namespace

RawPeer::RawPeer(const std::string& socket_path) : socket_(connect_to(socket_path)) {
  if (!socket_) throw std::runtime_error("connect " + socket_path + ": " + ::strerrorname_np(errno));
}

bool RawPeer::try_hello(const std::string& socket_path) {
  UniqueFd socket = connect_to(socket_path);
  if (!socket) return false;
  socket.reset();
  return RawPeer(socket_path).hello().status == HB_OK;
}

bool RawPeer::send_bytes(const std::string& bytes, const std::vector<int>& fds) {
  if (bytes.empty()) return send_empty(socket_.get(), fds);
  const auto data = std::as_bytes(std::span(bytes.data(), bytes.size()));
  const std::uint64_t deadline = now_ns() + kWatchdogNs;
  for (;;) {
    const auto sent = send_packet(socket_.get(), data, {}, fds);
    if (!sent) {
      errno = sent.error().code;
      return false;
    }
    if (*sent == SendOutcome::kSent) return true;
    if (*sent != SendOutcome::kWouldBlock) {
      errno = *sent == SendOutcome::kPeerGone ? EPIPE : ETOOMANYREFS;
      return false;
    }
    const auto writable = wait_socket(socket_.get(), WaitFor::kWritable, deadline);
    if (!writable || !*writable) {
      errno = EAGAIN;
      return false;
    }
  }
}

std::string encode(FrameHeader header, const std::string& body) {
  std::array<std::byte, kFrameHeaderBytes> head{};
  encode_frame_header(head, header, static_cast<std::uint32_t>(body.size()));
  std::string out(reinterpret_cast<const char*>(head.data()), head.size());
  return out + body;
}

bool RawPeer::send_frame(FrameHeader header, const std::string& body, const std::vector<int>& fds) {
  return send_bytes(encode(header, body), fds);
}

std::uint64_t RawPeer::send(FrameType type, const google::protobuf::MessageLite& body,
                            const std::vector<int>& fds) {
  const std::uint64_t id = next_id();
  send_frame({type, 0, static_cast<std::uint16_t>(fds.size()), id}, body.SerializeAsString(), fds);
  return id;
}

void RawPeer::send_one_way(FrameType type, const google::protobuf::MessageLite& body) {
  send_frame({type, 0, 0, 0}, body.SerializeAsString());
}

RawFrame RawPeer::receive(std::uint64_t limit_ns) {
  RawFrame frame;
  std::vector<std::byte> buffer(limits::kFrameBytes);
  const std::uint64_t deadline = now_ns() + limit_ns;
  for (;;) {
    auto received = receive_packet(socket_.get(), buffer);
    if (!received) return frame;  // as its end: ECONNRESET
    frame.outcome = received->outcome;
    if (received->outcome == ReceiveOutcome::kWouldBlock) {
      const auto readable = wait_socket(socket_.get(), WaitFor::kReadable, deadline);
      if (!readable || !*readable) return frame;
      continue;
    }
    frame.fds = std::move(received->fds);
    if (received->outcome == ReceiveOutcome::kEnd) return frame;
    const auto view = decode_frame(std::span(buffer.data(), received->bytes));
    if (view) {
      frame.header = view->header;
      frame.body.assign(reinterpret_cast<const char*>(view->body.data()), view->body.size());
    }
    return frame;
  }
}

bool RawPeer::ends(std::uint64_t limit_ns) {
  const std::uint64_t deadline = now_ns() + limit_ns;
  for (;;) {
    const std::uint64_t now = now_ns();
    const RawFrame frame = receive(now < deadline ? deadline - now : 0);
    if (frame.outcome == ReceiveOutcome::kEnd) return true;
    if (frame.outcome == ReceiveOutcome::kWouldBlock) return false;
  }
}

RawAnswer<pb::HelloReply> RawPeer::hello(const std::vector<std::string>& features) {
  pb::Hello hello;
  hello.set_lowest_version(limits::kLowestVersion);
  hello.set_highest_version(limits::kHighestVersion);
  hello.set_library("raw peer of the tests");
  for (const std::string& feature : features) hello.add_features(feature);
  return call<pb::HelloReply>(FrameType::kHello, hello);
}

pb::Export export_of(const std::string& name, std::size_t fds, std::uint64_t chunk_bytes) {
  pb::Export body;
  body.set_name(name);
  body.set_handle_kind(1);
  body.set_total_chunks(fds);
  body.set_total_size(fds * chunk_bytes);
  body.set_distinct_handles(fds);
  for (std::size_t i = 0; i < fds && i < limits::kFrameFds; ++i) {
    pb::Chunk* chunk = body.add_chunks();
    chunk->set_handle(static_cast<std::uint32_t>(i + 1));
    chunk->set_size(chunk_bytes);
  }
  return body;
}

pb::AclEntry acl_uid(std::uint32_t uid, std::uint32_t access) {
  pb::AclEntry entry;
  entry.set_kind(pb::AclEntry::UID);
  entry.set_id(uid);
  entry.set_access(access);
  return entry;
}

std::vector<int> borrow(const std::vector<UniqueFd>& fds) {
  std::vector<int> out;
  for (const UniqueFd& fd : fds) out.push_back(fd.get());
  return out;
}

RawAnswer<pb::ExportReply> RawPeer::export_fds(const std::string& name, const std::vector<int>& fds,
                                               std::uint64_t chunk_bytes,
                                               const std::vector<pb::AclEntry>& acl) {
  pb::Export body = export_of(name, fds.size(), chunk_bytes);
  for (const pb::AclEntry& entry : acl) *body.add_acl() = entry;
  const std::size_t first_page = std::min(fds.size(), limits::kFrameFds);
  auto answer = call<pb::ExportReply>(FrameType::kExport, body,
                                      {fds.begin(), fds.begin() + static_cast<std::ptrdiff_t>(first_page)});
  for (std::size_t at = first_page; at < fds.size() && answer.status == HB_OK;) {
    const std::size_t count = std::min(fds.size() - at, limits::kFrameFds);
    pb::ExportChunks more;
    more.set_export_id(answer.reply.export_id());
    more.set_first(at);
    for (std::size_t i = 0; i < count; ++i) {
      pb::Chunk* chunk = more.add_chunks();
      chunk->set_handle(static_cast<std::uint32_t>(i + 1));
      chunk->set_size(chunk_bytes);
    }
    const auto from = fds.begin() + static_cast<std::ptrdiff_t>(at);
    answer = call<pb::ExportReply>(FrameType::kExportChunks, more,
                                   {from, from + static_cast<std::ptrdiff_t>(count)});
    at += count;
  }
  return answer;
}

RawAnswer<pb::AcquireReply> RawPeer::acquire(const std::string& key, std::uint32_t access,
                                             std::uint32_t max_handles) {
  pb::Acquire body;
  body.mutable_target()->set_key(key);
  body.set_access(access);
  body.set_max_handles(max_handles);
  return call<pb::AcquireReply>(FrameType::kAcquire, body);
}

RawAnswer<pb::AcquireReply> RawPeer::acquire_name(const std::string& name, std::uint32_t access,
                                                  std::optional<std::uint32_t> owner,
                                                  std::uint32_t max_handles) {
  pb::Acquire body;
  body.mutable_target()->mutable_name()->set_name(name);
  if (owner) body.mutable_target()->mutable_name()->set_uid(*owner);
  body.set_access(access);
  body.set_max_handles(max_handles);
  return call<pb::AcquireReply>(FrameType::kAcquire, body);
}

RawAnswer<pb::WithdrawReply> RawPeer::withdraw_id(std::uint64_t export_id) {
  pb::Withdraw body;
  body.mutable_target()->set_export_id(export_id);
  return call<pb::WithdrawReply>(FrameType::kWithdraw, body);
}

void RawPeer::release(std::uint64_t lease_id) {
  pb::Release body;
  body.set_lease_id(lease_id);
  send_one_way(FrameType::kRelease, body);
}

RawAnswer<pb::ListReply> RawPeer::list(const std::string& prefix) {
  pb::List body;
  body.set_prefix(prefix);
  return call<pb::ListReply>(FrameType::kList, body);
}

RawAnswer<pb::StatusReply> RawPeer::status() {
  return call<pb::StatusReply>(FrameType::kStatus, pb::Status());
}

hb_status RawPeer::ping() {
  pb::Ping body;
  body.set_payload("still there");
  const auto answer = call<pb::PingReply>(FrameType::kPing, body);
  if (answer.ended) return HB_CLOSED;
  if (answer.status == HB_OK && answer.reply.payload() != "still there") return HB_INTERNAL;
  return answer.status;
}

}  // namespace hb::test
