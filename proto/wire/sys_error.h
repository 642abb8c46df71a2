// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#pragma once

#include <cerrno>
#include <cstring>
#include <string>

namespace hb {

// An operating system failure: which call, and its errno. Built in the same expression as the test of
// the return value, so that nothing between can change errno.
struct SysError {
  const char* operation = "";  // a literal, for example "recvmsg"
  int code = 0;

  [[nodiscard]] static SysError last(const char* operation) { return {operation, errno}; }
  // "recvmsg: ECONNRESET (Connection reset by peer)"
  [[nodiscard]] std::string text() const {
    const char* name = ::strerrorname_np(code);
    return std::string(operation) + ": " + (name != nullptr ? name : "errno " + std::to_string(code)) + " (" +
           ::strerrordesc_np(code) + ")";
  }
};

}  // namespace hb
