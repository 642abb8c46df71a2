// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#pragma once

#include <cstddef>
#include <vector>

#include "bench/harness/placement.h"
#include "wire/unique_fd.h"

namespace hb::bench {

// What the bare server answers to every request.
struct Reply {
  std::size_t bytes = 64;
  std::vector<UniqueFd> fds;
  bool keeps_fds = false;  // requests bring descriptors; kept until a request that starts with kDropRequest
};
inline constexpr char kRequest = 'q';
inline constexpr char kDropRequest = 'd';

// The least a single-threaded server can do: epoll, one recv, one sendmsg. Ends when every client has gone.
void serve(std::vector<UniqueFd> clients, const Reply& reply);

}  // namespace hb::bench
