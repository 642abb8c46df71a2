// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Amounts as people write them, in the policy file and on the command line.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace hb {

// "300G": a number and K, M, G or T for a power of 1024. Nothing for what is another text, or does not fit.
[[nodiscard]] std::optional<std::uint64_t> parse_bytes(std::string_view text);
// "200k": a number and k, M or G for a power of 1000. Likewise.
[[nodiscard]] std::optional<std::uint64_t> parse_count(std::string_view text);

// The shortest text that says exactly so much: "300G", "1536M", "1000"; parse_bytes() reads it.
[[nodiscard]] std::string exact_bytes(std::uint64_t bytes);

}  // namespace hb
