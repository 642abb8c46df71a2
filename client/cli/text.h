// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace hb::cli {

// Terminal columns that valid UTF-8 takes: 2 for wide characters, 0 for combining and zero-width ones. Bytes
// that are not UTF-8 count one each.
[[nodiscard]] std::size_t display_width(std::string_view text);

// At most `width` columns: what is cut off ends in "…".
[[nodiscard]] std::string fit(std::string_view text, std::size_t width);

// A message as one line: every control character becomes a blank. For sentences that already name things
// escaped.
[[nodiscard]] std::string one_line(std::string_view text);

}  // namespace hb::cli
