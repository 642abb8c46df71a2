// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Bounds that only the daemon's edge knows of: what a connection may cost before it is a session, and what
// peers that do not read or whose descriptors cannot be closed may hold. The others are in wire/limits.h.
#pragma once

#include <cstddef>
#include <cstdint>

#include "wire/limits.h"

namespace hb::limits {

// Descriptors sent and not yet read, of all sessions: below the soft RLIMIT_NOFILE, where the kernel stops a
// user without CAP_SYS_RESOURCE.
inline constexpr std::uint64_t in_flight_budget(std::uint64_t limit) {
  return limit - (limit < 512 ? limit / 8 : 64);
}
// What a bucket of connections holds, in seconds of its rate: a node's programs start together.
inline constexpr std::uint64_t kConnectBurst = 4;
// Sockets of one uid that wait for a close: beyond, those with nothing dangerous in them are closed at once.
inline constexpr std::size_t kSocketsClosing = 64;
// Packets of a socket that are thrown away on the loop to find that out: as many as the kernel queues by
// default.
inline constexpr int kPacketsDropped = 300;
// Numbers beside those of one frame that have to be free to receive it on the loop: /proc files, a pidfd.
inline constexpr std::uint64_t kReceiveSlack = 4;

}  // namespace hb::limits
