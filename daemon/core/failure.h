// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// How the core words a refusal.
#pragma once

#include <concepts>
#include <string>
#include <string_view>
#include <utility>

#include "core/effect.h"
#include "core/types.h"

namespace hb::core {

inline void append_text(std::string& out, std::string_view part) { out.append(part); }
template <std::integral T>
void append_text(std::string& out, T value) {
  out.append(std::to_string(value));
}
template <class... Parts>
[[nodiscard]] std::string text(const Parts&... parts) {
  std::string out;
  (append_text(out, parts), ...);
  return out;
}

template <class... Parts>
[[nodiscard]] Error failure(hb_status status, const Parts&... parts) {
  Error error;
  error.status = status;
  error.message = text(parts...);
  return error;
}

// `number` counts from 0 over the whole export.
template <class... Parts>
[[nodiscard]] Error chunk_failure(hb_status status, std::uint64_t number, const Parts&... parts) {
  Error error = failure(status, "chunk ", number, ": ", parts...);
  error.chunk = number + 1;
  return error;
}

[[nodiscard]] inline Error over_bound(std::string_view what, std::uint64_t used, std::uint64_t limit,
                                      std::uint32_t uid) {
  Error error = failure(HB_QUOTA, used, " ", what, " are over the limit of ", limit);
  error.what = what;
  error.used = used;
  error.limit = limit;
  error.who = text("uid ", uid);
  return error;
}

[[nodiscard]] constexpr std::string_view access_name(Access access) {
  return access == Access::kReadWrite ? "read and write" : access == Access::kRead ? "read" : "nothing";
}
[[nodiscard]] constexpr std::string_view level_name(Level level) {
  switch (level) {
    case Level::kNone:
      return "none";
    case Level::kIntent:
      return "intent";
    case Level::kPerReader:
      return "per-reader";
    case Level::kSealed:
      return "sealed";
  }
  return "unknown";
}
[[nodiscard]] constexpr std::string_view kind_name(HandleKind kind) {
  switch (kind) {
    case HandleKind::kMemfd:
      return "memfd";
    case HandleKind::kDmaBuf:
      return "dma-buf";
    case HandleKind::kDriver:
      return "driver";
  }
  return "unknown";
}

}  // namespace hb::core
