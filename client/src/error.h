// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// What a failed call of the library tells: everything that hb_error shows. Built where the cause is known,
// passed up unchanged, turned into the C struct at the ABI (abi.h).
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "hipbroker/status.h"
#include "wire/expected.h"
#include "wire/sys_error.h"

namespace hb::client {

struct Error {
  hb_status status = HB_INTERNAL;
  std::string message;  // names the thing, the cause, both numbers, the way out
  std::int32_t sys_errno = 0;
  std::string operation;
  std::string what;
  std::uint64_t used = 0;
  std::uint64_t limit = 0;
  std::string who;
  std::int64_t chunk = -1;
  bool not_sent = false;  // the connection was found dead before the request left: safe to send elsewhere
};

template <class T>
using Result = tl::expected<T, Error>;

[[nodiscard]] inline tl::unexpected<Error> fail(hb_status status, std::string message) {
  Error error;
  error.status = status;
  error.message = std::move(message);
  return tl::unexpected<Error>(std::move(error));
}

[[nodiscard]] inline tl::unexpected<Error> fail(Error error) {
  return tl::unexpected<Error>(std::move(error));
}

// An operating system call failed: "DOING: open: ENOENT (No such file or directory)".
[[nodiscard]] inline Error system_error(const SysError& cause, const std::string& doing,
                                        hb_status status = HB_SYSTEM) {
  Error error;
  error.status = status;
  error.message = doing + ": " + cause.text();
  error.sys_errno = cause.code;
  error.operation = cause.operation;
  return error;
}

// HB_RANGE, HB_NO_FDS, HB_QUOTA: {what, used, limit, who}.
[[nodiscard]] inline Error limit_error(hb_status status, std::string what, std::uint64_t used,
                                       std::uint64_t limit, std::string message) {
  Error error;
  error.status = status;
  error.what = std::move(what);
  error.used = used;
  error.limit = limit;
  error.message = std::move(message);
  return error;
}

}  // namespace hb::client
