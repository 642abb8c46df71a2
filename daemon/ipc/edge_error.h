// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// What the edge itself refuses. Core errors become one of these without further words.
#pragma once

#include <string>
#include <utility>

#include "core/effect.h"
#include "wire/sys_error.h"

namespace hb::ipc {

struct EdgeError : core::Error {
  int sys_errno = 0;
  std::string operation;
};

[[nodiscard]] inline EdgeError edge_error(hb_status status, std::string message) {
  EdgeError error;
  error.status = status;
  error.message = std::move(message);
  return error;
}

// {what, used, limit}: the sentence names all three and the way out.
[[nodiscard]] inline EdgeError over_limit(const char* what, std::uint64_t used, std::uint64_t limit) {
  EdgeError error =
      edge_error(HB_QUOTA, std::string(what) + ": " + std::to_string(used) +
                               " in one request, the broker's limit is " + std::to_string(limit));
  error.what = what;
  error.used = used;
  error.limit = limit;
  return error;
}

}  // namespace hb::ipc
