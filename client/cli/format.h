// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "hipbroker/hipbroker.h"

namespace hb::cli {

[[nodiscard]] std::string format_bytes(std::uint64_t bytes);                         // "64.0 MiB", "512 B"
[[nodiscard]] std::string format_age(std::uint64_t ns);                              // "3m12s", "0s", "2d4h"
[[nodiscard]] std::string format_latency(std::uint64_t ns);                          // "41 us"
[[nodiscard]] std::string format_pid(std::uint32_t pid);                             // "unknown" for 0
[[nodiscard]] std::string format_access(std::uint32_t access, std::uint32_t level);  // "rw", "r/sealed"
[[nodiscard]] std::string_view access_word(std::uint32_t access);                    // "rw", "r", "none"
[[nodiscard]] std::string level_word(std::uint32_t level);                           // "per-reader"
[[nodiscard]] std::string kind_word(std::uint32_t kind);                             // "memfd"
// A string of somebody else's choice, safe on a terminal; "-" when empty.
[[nodiscard]] std::string safe(const char* text);
// The name an export is shown under.
[[nodiscard]] std::string shown_name(const char* name);  // "(anonymous)" when empty

}  // namespace hb::cli
