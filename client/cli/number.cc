// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "number.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <string_view>

#include "wire/amount.h"
#include "wire/name.h"

namespace hb::cli {
namespace {

template <class Number>
bool parse(const std::string& text, Number& number) {
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && stop == end;
}

CLI::Validator validator(std::function<std::string(std::string&)> check) {
  return {std::move(check), std::string(), "number"};
}

// Negative where the text is none.
double seconds_in(std::string text) {
  struct Unit {
    std::string_view name;
    double seconds;
  };
  constexpr std::array kUnits{Unit{"ms", 1e-3}, Unit{"s", 1}, Unit{"m", 60}, Unit{"h", 3600}};
  double factor = 1;
  for (const Unit& unit : kUnits) {
    if (!text.ends_with(unit.name)) continue;
    text.resize(text.size() - unit.name.size());
    factor = unit.seconds;
    break;
  }
  double value = 0;
  if (!parse(text, value) || !(value >= 0 && value * factor <= kMostSeconds)) return -1;
  return value * factor;
}

constexpr std::string_view kUnlimited = "unlimited";

std::optional<std::uint64_t> read_limit(const std::string& text, bool of_bytes) {
  if (text == kUnlimited) return UINT64_MAX;
  return of_bytes ? parse_bytes(text) : parse_count(text);
}

}  // namespace

CLI::Validator limit(bool of_bytes) {
  return validator([of_bytes](std::string& text) -> std::string {
    if (read_limit(text, of_bytes)) return {};
    return fmt::format("\"{}\" is no limit, expected {}, or unlimited", escape_for_display(text),
                       of_bytes ? "bytes, with K, M, G or T for a power of 1024, like 300G"
                                : "a number, with k, M or G for a power of 1000, like 200k");
  });
}

std::uint64_t limit_value(const std::string& text, bool of_bytes) {
  return read_limit(text, of_bytes).value_or(0);
}

CLI::Validator duration() {
  return validator([](std::string& text) -> std::string {
    if (seconds_in(text) >= 0) return {};
    return fmt::format("\"{}\" is no time, expected one like 10s, 500ms or 2m", escape_for_display(text));
  });
}

std::uint64_t duration_ns(const std::string& text) {
  return text.empty() ? 0 : static_cast<std::uint64_t>(std::llround(seconds_in(text) * 1e9));
}

CLI::Validator seconds() {
  return validator([](std::string& text) -> std::string {
    const double value = seconds_in(text);
    if (value < 0)
      return fmt::format("\"{}\" is no time, expected 0 to {:.0f} seconds, or one like 500ms or 2m",
                         escape_for_display(text), kMostSeconds);
    text = fmt::format("{}", value);
    return {};
  });
}

CLI::Validator whole_number(std::uint64_t most) {
  return validator([most](std::string& text) -> std::string {
    std::uint64_t value = 0;
    if (parse(text, value) && value <= most) return {};
    return fmt::format("\"{}\" is none, expected a whole number from 0 to {}", escape_for_display(text),
                       most);
  });
}

}  // namespace hb::cli
