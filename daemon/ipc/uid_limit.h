// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#pragma once

#include <cstdint>
#include <string>

#include "core/resource.h"
#include "ipc/edge_error.h"

namespace hb::ipc {

// What a uid uses up at the edge, in the core's words.
[[nodiscard]] inline EdgeError uid_limit(const core::ResourceText& words, std::uint32_t uid,
                                         std::uint64_t used, std::uint64_t limit) {
  const std::string who = "uid " + std::to_string(uid);
  EdgeError error = edge_error(
      HB_QUOTA, "limit of " + std::string(words.phrase) + " reached: " + std::to_string(used) + " of " +
                    std::to_string(limit) + " for " + who + "; " + std::string(words.way_out));
  error.what = words.phrase;
  error.used = used;
  error.limit = limit;
  error.who = who;
  return error;
}

}  // namespace hb::ipc
