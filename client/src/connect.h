// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Finds the daemon's socket and connects to it, checked (socket_trust.h). Sends nothing.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "error.h"
#include "wire/unique_fd.h"

namespace hb::client {

struct ConnectOptions {
  std::string socket;  // "" = the search order
  std::vector<std::uint32_t> trusted_uids;
};

struct Connection {
  UniqueFd socket;  // SOCK_SEQPACKET, non-blocking, never 0..2
  std::string path;
};

// Paths in the order they are tried. A path that was asked for, by option or HIPBROKER_SOCKET, is the only
// one.
[[nodiscard]] std::vector<std::string> socket_candidates(const ConnectOptions& options);

// The first candidate that someone listens on. HB_NO_DAEMON at once when there is none; a full backlog is
// waited for. HB_UNTRUSTED stops the search: a planted socket is never a reason to look further.
[[nodiscard]] Result<Connection> connect_daemon(const ConnectOptions& options, std::uint64_t deadline_ns);

}  // namespace hb::client
