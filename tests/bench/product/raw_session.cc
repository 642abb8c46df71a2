// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "bench/product/raw_session.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>

#include "bench/floor/channel.h"
#include "bench/harness/check.h"
#include "hipbroker/v1/broker.pb.h"
#include "wire/frame.h"
#include "wire/limits.h"

namespace hb::bench {
namespace {

constexpr std::size_t kRequestIdOffset = 8;  // of a frame header (wire/frame.h)
constexpr std::size_t kReplyBytes = 2048;    // an acquire's reply is some 250

std::vector<std::byte> make_frame(FrameType type, const std::string& body) {
  std::vector<std::byte> frame(kFrameHeaderBytes + body.size());
  encode_frame_header(std::span<std::byte, kFrameHeaderBytes>(frame.data(), kFrameHeaderBytes),
                      FrameHeader{.type = type}, static_cast<std::uint32_t>(body.size()));
  std::memcpy(frame.data() + kFrameHeaderBytes, body.data(), body.size());
  return frame;
}

UniqueFd connect_to(const std::string& path) {
  UniqueFd socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  HB_BENCH_CHECK(socket);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  HB_BENCH_CHECK(path.size() < sizeof address.sun_path);
  path.copy(address.sun_path, path.size());
  HB_BENCH_CHECK(::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
  return socket;
}

// Field 1 of an AcquireReply, which a canonical writer puts first; a parse of the whole would be client time
// that the floor's client does not spend.
std::uint64_t lease_of(std::span<const std::byte> body) {
  constexpr std::byte kLeaseTag{0x08};
  HB_BENCH_CHECK(!body.empty() && body[0] == kLeaseTag);
  std::uint64_t value = 0;
  for (std::size_t i = 1, shift = 0; i < body.size() && shift < 64; ++i, shift += 7) {
    value |= (std::to_integer<std::uint64_t>(body[i]) & 0x7f) << shift;
    if ((std::to_integer<unsigned>(body[i]) & 0x80) == 0) return value;
  }
  die("an acquire's reply without a lease");
}

}  // namespace

RawSession::RawSession(const std::string& socket, const hb_key& key)
    : socket_(connect_to(socket)), buffer_(kReplyBytes) {
  hipbroker::v1::Hello hello;
  hello.set_lowest_version(limits::kLowestVersion);
  hello.set_highest_version(limits::kHighestVersion);
  hello.set_library("hb_bench");
  auto greeting = make_frame(FrameType::kHello, hello.SerializeAsString());
  send(greeting);
  (void)receive();
  hipbroker::v1::Acquire acquire;
  acquire.mutable_target()->set_key(key.bytes, sizeof key.bytes);
  acquire.set_access(HB_ACCESS_READ_WRITE);
  acquire.set_max_handles(1);
  acquire_ = make_frame(FrameType::kAcquire, acquire.SerializeAsString());
  ping_ = make_frame(FrameType::kPing, "");
}

void RawSession::send(Bytes& frame) {
  const std::uint64_t id = next_request_++;
  std::memcpy(frame.data() + kRequestIdOffset, &id, sizeof id);
  HB_BENCH_CHECK(::send(socket(), frame.data(), frame.size(), MSG_NOSIGNAL) ==
                 static_cast<ssize_t>(frame.size()));
}

std::size_t RawSession::receive() {
  std::array<int, 1> fds;
  fds_received_ = fds.size();
  const ssize_t received = receive_message(
      socket(), std::span(reinterpret_cast<char*>(buffer_.data()), buffer_.size()), fds, fds_received_);
  HB_BENCH_CHECK(received > 0);
  if (fds_received_ > 0) ::close(fds[0]);
  return static_cast<std::size_t>(received);
}

void RawSession::send_acquire() { send(acquire_); }

std::uint64_t RawSession::receive_acquired() {
  const auto frame = decode_frame(std::span(buffer_.data(), receive()));
  HB_BENCH_CHECK(frame && frame->header.type == FrameType::kAcquire && fds_received_ == 1);
  return lease_of(frame->body);
}

void RawSession::send_release(std::uint64_t lease) {
  constexpr std::size_t kLongest = kFrameHeaderBytes + 11;  // tag and a varint of ten bytes
  release_.resize(kLongest);
  std::size_t end = kFrameHeaderBytes;
  release_[end++] = std::byte{0x08};
  for (; lease >= 0x80; lease >>= 7) release_[end++] = static_cast<std::byte>(lease | 0x80);
  release_[end++] = static_cast<std::byte>(lease);
  release_.resize(end);
  encode_frame_header(std::span<std::byte, kFrameHeaderBytes>(release_.data(), kFrameHeaderBytes),
                      FrameHeader{.type = FrameType::kRelease},
                      static_cast<std::uint32_t>(end - kFrameHeaderBytes));
  HB_BENCH_CHECK(::send(socket(), release_.data(), release_.size(), MSG_NOSIGNAL) ==
                 static_cast<ssize_t>(release_.size()));
}

void RawSession::ping() {
  send(ping_);
  const auto frame = decode_frame(std::span(buffer_.data(), receive()));
  HB_BENCH_CHECK(frame && frame->header.type == FrameType::kPing);
}

}  // namespace hb::bench
