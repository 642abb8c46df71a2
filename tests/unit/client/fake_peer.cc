// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "fake_peer.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <array>
#include <cstring>
#include <stdexcept>

#include "support/wait.h"
#include "wire/limits.h"
#include "wire/packet_socket.h"

namespace hb::test {

PeerFrame FakePeer::receive() {
  std::vector<std::byte> buffer(limits::kFrameBytes);
  PeerFrame out;
  for (;;) {
    if (!wait_readable(socket_.get())) break;
    auto received = receive_packet(socket_.get(), buffer);
    if (!received || received->outcome == ReceiveOutcome::kEnd) break;
    if (received->outcome != ReceiveOutcome::kPacket) continue;
    const auto frame = decode_frame({buffer.data(), received->bytes});
    if (!frame) break;
    out.header = frame->header;
    out.body.assign(reinterpret_cast<const char*>(frame->body.data()), frame->body.size());
    out.fds = std::move(received->fds);
    return out;
  }
  out.ended = true;
  return out;
}

PeerFrame FakePeer::expect(FrameType type) {
  PeerFrame frame = receive();
  EXPECT_FALSE(frame.ended);
  EXPECT_EQ(static_cast<int>(frame.header.type), static_cast<int>(type));
  return frame;
}

void FakePeer::send(FrameHeader header, const std::string& body, const std::vector<int>& fds) {
  std::array<std::byte, kFrameHeaderBytes> head{};
  encode_frame_header(head, header, static_cast<std::uint32_t>(body.size()));
  const auto sent = send_packet(socket_.get(), head, std::as_bytes(std::span(body.data(), body.size())), fds);
  EXPECT_TRUE(sent && *sent == SendOutcome::kSent);
}

void FakePeer::reply(const PeerFrame& request, const google::protobuf::MessageLite& body,
                     const std::vector<int>& fds) {
  send({request.header.type, kFlagReply, static_cast<std::uint16_t>(fds.size()), request.header.request_id},
       body.SerializeAsString(), fds);
}

void FakePeer::refuse(const PeerFrame& request, const pb::Error& error) {
  send({FrameType::kError, kFlagReply, 0, request.header.request_id}, error.SerializeAsString());
}

void FakePeer::answer_hello() {
  const PeerFrame hello = expect(FrameType::kHello);
  pb::HelloReply reply;
  reply.set_version(1);
  reply.set_broker_id(std::string(16, 'b'));
  reply.set_session_id(7);
  reply.set_daemon("fake 1");
  reply.set_uid(::geteuid());
  this->reply(hello, reply);
}

void FakePeer::answer_share_page(std::uint32_t word) {
  const PeerFrame request = expect(FrameType::kSharePage);
  UniqueFd page(::memfd_create("validity", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  ASSERT_EQ(::ftruncate(page.get(), 4096), 0);
  ASSERT_EQ(::pwrite(page.get(), &word, sizeof word, 0), static_cast<ssize_t>(sizeof word));
  ASSERT_EQ(::fcntl(page.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW), 0);
  pb::SharePageReply reply;
  reply.set_slots(1024);
  this->reply(request, reply, {page.get()});
}

Ends connected_ends() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0)
    throw std::runtime_error("socketpair");
  return {UniqueFd(ends[0]), FakePeer(UniqueFd(ends[1]))};
}

FakeListener::FakeListener(const std::string& path)
    : socket_(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) throw std::runtime_error("path too long: " + path);
  std::memcpy(address.sun_path, path.c_str(), path.size());
  if (::bind(socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      ::listen(socket_.get(), 16) != 0)
    throw std::runtime_error("cannot listen on " + path);
}

bool FakeListener::has_connection() const { return wait_readable(socket_.get(), 0); }

FakePeer FakeListener::accept() {
  EXPECT_TRUE(wait_readable(socket_.get()));
  return FakePeer(UniqueFd(::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK)));
}

pb::AcquireReply one_chunk_grant(std::uint64_t lease, std::uint64_t bytes) {
  pb::AcquireReply grant;
  grant.set_lease_id(lease);
  grant.set_validity_value(1);
  grant.set_access(3);
  grant.set_length(bytes);
  grant.set_chunk_count(1);
  grant.set_export_id(42);
  grant.set_generation(1);
  grant.set_export_size(bytes);
  grant.set_handle_kind(1);
  grant.set_secret(std::string(16, 's'));
  pb::Chunk* chunk = grant.add_chunks();
  chunk->set_handle(1);
  chunk->set_size(bytes);
  return grant;
}

}  // namespace hb::test
