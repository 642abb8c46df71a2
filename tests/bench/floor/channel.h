// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// The least that AF_UNIX needs to pass bytes and descriptors: what the product is measured against. It uses
// nothing of proto/wire's sockets on purpose.
#pragma once

#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>

#include <cstddef>
#include <span>
#include <utility>

#include "wire/unique_fd.h"

namespace hb::bench {

inline constexpr std::size_t kMaxFds = 253;
inline constexpr std::size_t kMappedBytes = 2u << 20;

// A connected SEQPACKET pair: client, server.
[[nodiscard]] std::pair<UniqueFd, UniqueFd> make_channel();
[[nodiscard]] UniqueFd make_memory(std::size_t bytes);

// A reply that is built once and sent many times. It points into itself.
class PreparedMessage {
 public:
  PreparedMessage(std::span<const char> bytes, std::span<const UniqueFd> fds);
  PreparedMessage(const PreparedMessage&) = delete;
  PreparedMessage& operator=(const PreparedMessage&) = delete;
  // False when the peer has gone.
  bool send(int socket) const;

 private:
  msghdr message_{};
  iovec vector_{};
  alignas(cmsghdr) char control_[CMSG_SPACE(sizeof(int) * kMaxFds)];
};

// Receives one packet; descriptors go into `fds` (raw: closing them is what a case measures). `fd_count`:
// room in, received out. Bytes, 0 at the end.
ssize_t receive_message(int socket, std::span<char> bytes, std::span<int> fds, std::size_t& fd_count);

// Closes by runs of consecutive numbers, as one close_range each.
void close_runs(std::span<const int> fds);

}  // namespace hb::bench
