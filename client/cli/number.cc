// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "number.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <string_view>

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

}  // namespace

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
    double value = 0;
    // Written so that NaN, which compares with nothing, is out of range.
    if (parse(text, value) && value >= 0 && value <= kMostSeconds) return {};
    return fmt::format("\"{}\" is no time, expected 0 to {:.0f} seconds", escape_for_display(text),
                       kMostSeconds);
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
