// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// The only SCM_RIGHTS code in the tree: one SOCK_SEQPACKET packet with its descriptors, in or out.
// Free functions over a borrowed descriptor: who polls, queues or owns the socket is not their business.
// Thread-safe as far as the kernel is: two threads may send, or receive, on one socket.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "wire/expected.h"
#include "wire/limits.h"
#include "wire/sys_error.h"
#include "wire/unique_fd.h"

namespace hb {

enum class ReceiveOutcome : std::uint8_t {
  kPacket,          // bytes and all descriptors arrived
  kFdsTruncated,    // MSG_CTRUNC: bytes intact, every descriptor that did arrive has been closed or
                    // given to `disposed`. With room for 253 + credentials + pidfd this can only mean
                    // our own RLIMIT_NOFILE or a security module.
  kBytesTruncated,  // MSG_TRUNC: longer than the buffer; the connection must be closed
  kWouldBlock,
  kEnd,  // EOF: the peer closed or died
};

struct Received {
  ReceiveOutcome outcome = ReceiveOutcome::kWouldBlock;
  std::size_t bytes = 0;      // written to the buffer
  std::vector<UniqueFd> fds;  // with kPacket: all of the packet, close-on-exec, never 0..2.
                              // With kFdsTruncated and kBytesTruncated: those that did arrive; the caller
                              // disposes of them (their close may block when the peer is hostile).
};

enum class ReceiveMode : std::uint8_t {
  kNow,    // kWouldBlock when nothing has come
  kBlock,  // sleeps in the kernel until something has come: one system call instead of ppoll and recvmsg.
           // Only on a socket without O_NONBLOCK
};

// EINTR is resumed. A zero-byte packet that carries descriptors is reported as kPacket
// with bytes == 0 (the kernel returns 0 for it as for EOF).
[[nodiscard]] tl::expected<Received, SysError> receive_packet(int socket, std::span<std::byte> buffer,
                                                              ReceiveMode mode = ReceiveMode::kNow);

enum class SendOutcome : std::uint8_t {
  kSent,
  kWouldBlock,       // the peer does not read; nothing was sent
  kPeerGone,         // EPIPE, ECONNRESET
  kTooManyInFlight,  // ETOOMANYREFS: this uid has more than its soft RLIMIT_NOFILE in unread messages
};

// Sends `head` and `body` as one packet with borrowed descriptors (1..253, or none). Never blocks, never
// raises SIGPIPE, EINTR is resumed. EMSGSIZE and the rest come back as SysError.
[[nodiscard]] tl::expected<SendOutcome, SysError> send_packet(int socket, std::span<const std::byte> head,
                                                              std::span<const std::byte> body,
                                                              std::span<const int> fds);

// Waits until `socket` is readable (or writable) or `deadline_ns` (absolute CLOCK_MONOTONIC; UINT64_MAX
// none; 0 does not wait). False at the deadline. EINTR is resumed with the time that is left.
enum class WaitFor : std::uint8_t { kReadable, kWritable };
[[nodiscard]] tl::expected<bool, SysError> wait_socket(int socket, WaitFor what, std::uint64_t deadline_ns);

}  // namespace hb
