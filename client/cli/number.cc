// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "number.h"

#include <fmt/format.h>

#include <charconv>

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

}  // namespace

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
