// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>

namespace hb::cli {

// Checks of option values. CLI11's own conversions take NaN for a number in any range, and wrap "-1" and what
// is too large to the largest id.
inline constexpr double kMostSeconds = 1e9;
[[nodiscard]] CLI::Validator seconds();
// "10s", "500ms", "2m", "1h"; a number alone is seconds.
[[nodiscard]] CLI::Validator duration();
[[nodiscard]] std::uint64_t duration_ns(const std::string& text);  // of one that passed; "" is 0
[[nodiscard]] CLI::Validator whole_number(std::uint64_t most);     // decimal digits alone
// A limit: "300G" of bytes, "200k" of what is counted; "unlimited".
[[nodiscard]] CLI::Validator limit(bool of_bytes);
[[nodiscard]] std::uint64_t limit_value(const std::string& text, bool of_bytes);  // of one that passed

}  // namespace hb::cli
