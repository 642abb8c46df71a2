// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#pragma once

#include <string>
#include <string_view>

#include "wire/expected.h"

namespace hb {

// What a name may be: 1..limits::kNameBytes bytes of valid UTF-8, no control character (C0, DEL, C1), parts
// separated by '/', no part empty, "." or "..". The error is a sentence that names the offence and its
// byte offset.
[[nodiscard]] tl::expected<void, std::string> check_name(std::string_view name);

// For terminals and logs: control characters, invalid UTF-8, quotes, backslash, the bidirectional
// controls, line separators and what takes no room (zero-width characters) become \xNN or \u{NNNN};
// everything else stays. Never longer than 4 x the input.
[[nodiscard]] std::string escape_for_display(std::string_view text);

}  // namespace hb
