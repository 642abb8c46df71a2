// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "app/fd_need.h"

#include "wire/limits.h"

namespace hb::app {

std::optional<std::string> refuse_fd_limit(std::uint64_t limit, std::uint64_t base,
                                           std::uint64_t per_session) {
  const std::uint64_t used = base + per_session;
  if (used + limits::fd_reserve(limit) <= limit) return std::nullopt;
  // The reserve grows with the limit, so the least limit is looked for and not computed.
  std::uint64_t least = used;
  while (used + limits::fd_reserve(least) > least) ++least;
  return "RLIMIT_NOFILE is " + std::to_string(limit) + ", hipbrokerd needs at least " +
         std::to_string(least) + ": " + std::to_string(base) + " descriptors for itself, " +
         std::to_string(per_session) + " for one session and " + std::to_string(limits::fd_reserve(least)) +
         " kept free; raise it with LimitNOFILE= of the service or ulimit -Hn";
}

}  // namespace hb::app
