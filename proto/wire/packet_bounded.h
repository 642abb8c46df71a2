// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#pragma once

#include "wire/packet_socket.h"

namespace hb {

// Like receive_packet(), but takes up no more than `fds` numbers: what a packet has beyond is closed inside,
// which takes as long as its maker likes, and the outcome is kFdsTruncated.
[[nodiscard]] tl::expected<Received, SysError> receive_packet_bounded(int socket, std::span<std::byte> buffer,
                                                                      std::size_t fds);

}  // namespace hb
