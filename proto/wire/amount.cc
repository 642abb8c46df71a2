// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "wire/amount.h"

#include <charconv>

namespace hb {
namespace {

constexpr std::string_view kBinary = "KMGT";
constexpr std::string_view kDecimal = "kMG";

std::optional<std::uint64_t> parse(std::string_view text, std::string_view units, std::uint64_t step) {
  std::uint64_t factor = 1;
  const std::size_t unit = text.empty() ? std::string_view::npos : units.find(text.back());
  if (unit != std::string_view::npos) {
    for (std::size_t i = 0; i <= unit; ++i) factor *= step;
    text.remove_suffix(1);
  }
  std::uint64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, code] = std::from_chars(text.data(), end, number);
  if (code != std::errc() || stop != end || number > UINT64_MAX / factor) return std::nullopt;
  return number * factor;
}

}  // namespace

std::optional<std::uint64_t> parse_bytes(std::string_view text) { return parse(text, kBinary, 1024); }
std::optional<std::uint64_t> parse_count(std::string_view text) { return parse(text, kDecimal, 1000); }

std::string exact_bytes(std::uint64_t bytes) {
  std::size_t unit = 0;
  while (bytes != 0 && bytes % 1024 == 0 && unit < kBinary.size()) {
    bytes /= 1024;
    ++unit;
  }
  std::string out = std::to_string(bytes);
  if (unit != 0) out += kBinary[unit - 1];
  return out;
}

}  // namespace hb
