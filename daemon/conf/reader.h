// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Reads values out of a parsed TOML file and keeps every complaint with its place, so that whoever wrote the
// file sees all of them at once.
#pragma once

#ifndef TOML_EXCEPTIONS
#define TOML_EXCEPTIONS 0
#endif
// toml++ 3.3 assumes what a wrong file breaks, such as one with "[[[rule]]": with NDEBUG that is undefined,
// and without it the process stops. Where it does neither, it comes to the error that it has for it. So
// nobody else includes it.
#define TOML_ASSERT(expr) static_assert(true)
#pragma push_macro("NDEBUG")
#undef NDEBUG
#include <toml++/toml.h>
#pragma pop_macro("NDEBUG")

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "conf/errors.h"

namespace hb::conf {

// "a string", "an integer", ...
[[nodiscard]] std::string type_name(const toml::node& node);
// What the file says there, for a message: a string in quotes, a number, else its type.
[[nodiscard]] std::string shown(const toml::node& node);

class Reader {
 public:
  explicit Reader(const std::string& file);

  // Nothing where the syntax is wrong: that is the one error then.
  [[nodiscard]] std::optional<toml::table> parse(std::string_view text);

  void error(const toml::source_region& where, const std::string& text);
  // The same kind of line, of something that is in order and hardly meant.
  void warning(const toml::source_region& where, const std::string& text);
  [[nodiscard]] bool failed() const { return !errors_.empty(); }

  void check_keys(const toml::table& table, const std::string& name, std::span<const std::string_view> known);
  // `word` is none of these: the one that may be meant, as "; did you mean ...?", or nothing.
  [[nodiscard]] static std::string meant(std::string_view word, std::span<const std::string_view> known);

  // Each of these says nothing where the key is not there, and complains where it is something else.
  [[nodiscard]] const toml::table* table(const toml::table& parent, std::string_view key);
  [[nodiscard]] std::optional<std::string> string(const toml::table& parent, std::string_view key);
  [[nodiscard]] std::optional<std::uint64_t> number(const toml::table& parent, std::string_view key,
                                                    std::uint64_t least, std::uint64_t most);

  // In the order of the file.
  [[nodiscard]] Errors take_errors() { return lines_of(errors_); }
  [[nodiscard]] Errors take_warnings() { return lines_of(warnings_); }

 private:
  struct Found {
    std::uint32_t line = 0;
    std::uint32_t column = 0;
    std::string text;
  };
  void syntax_error(const toml::parse_error& found);
  [[nodiscard]] Errors lines_of(std::vector<Found>& found) const;

  std::string file_;
  std::vector<Found> errors_;
  std::vector<Found> warnings_;
};

}  // namespace hb::conf
