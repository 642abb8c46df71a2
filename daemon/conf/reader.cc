// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "conf/reader.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "wire/name.h"

namespace hb::conf {
namespace {

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substituted = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = std::exchange(row[j], std::min({substituted, row[j] + 1, row[j - 1] + 1}));
    }
  }
  return row.back();
}

std::optional<std::string_view> nearest(std::string_view word, std::span<const std::string_view> known) {
  if (known.empty()) return std::nullopt;
  const auto best = std::min_element(known.begin(), known.end(), [word](auto a, auto b) {
    return edit_distance(word, a) < edit_distance(word, b);
  });
  return edit_distance(word, *best) <= std::max<std::size_t>(2, best->size() / 3) ? std::optional(*best)
                                                                                  : std::nullopt;
}

}  // namespace

std::string type_name(const toml::node& node) {
  switch (node.type()) {
    case toml::node_type::string:
      return "a string";
    case toml::node_type::integer:
      return "an integer";
    case toml::node_type::floating_point:
      return "a floating-point number";
    case toml::node_type::boolean:
      return "a boolean";
    case toml::node_type::array:
      return "an array";
    case toml::node_type::table:
      return "a table";
    default:
      return "a date or time";
  }
}

std::string shown(const toml::node& node) {
  if (const auto* text = node.as_string()) return "\"" + escape_for_display(text->get()) + "\"";
  if (const auto* number = node.as_integer()) return std::to_string(number->get());
  return type_name(node);
}

Reader::Reader(const std::string& file) : file_(escape_for_display(file)) {}

void Reader::error(const toml::source_region& where, const std::string& text) {
  errors_.push_back({where.begin.line, where.begin.column, text});
}

std::optional<toml::table> Reader::parse(std::string_view text) {
  // TOML has none of them anywhere, and the parser of toml++ 3.3 stops the process at some NULs.
  toml::source_position at{1, 1};
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte < 0x20 && c != '\t' && c != '\n' && c != '\r') || byte == 0x7f) {
      error({at, at, nullptr}, "control character " + std::to_string(byte) +
                                   "; TOML allows tabs and line ends alone, others are written \\uXXXX in "
                                   "a string");
      return std::nullopt;
    }
    at = c == '\n' ? toml::source_position{at.line + 1, 1} : toml::source_position{at.line, at.column + 1};
  }
  toml::parse_result parsed = toml::parse(text);
  if (parsed) return std::move(parsed).table();
  syntax_error(parsed.error());
  return std::nullopt;
}

// The parser's words quote the file: only they, and not the quotation marks around, are escaped.
void Reader::syntax_error(const toml::parse_error& found) {
  const std::string_view words = found.description();
  std::string text;
  for (std::size_t at = 0; at < words.size();) {
    const std::size_t mark = std::min(words.find_first_of("\"'\\", at), words.size());
    text += escape_for_display(words.substr(at, mark - at));
    if (mark < words.size()) text += words[mark];
    at = mark + 1;
  }
  error(found.source(), text);
}

void Reader::warning(const toml::source_region& where, const std::string& text) {
  warnings_.push_back({where.begin.line, where.begin.column, "warning: " + text});
}

void Reader::check_keys(const toml::table& table, const std::string& name,
                        std::span<const std::string_view> known) {
  for (const auto& [key, node] : table) {
    if (std::find(known.begin(), known.end(), key.str()) != known.end()) continue;
    std::string text = "unknown key \"" + escape_for_display(key.str()) + "\"";
    if (!name.empty()) text += " in [" + name + "]";
    error(key.source(), text + meant(key.str(), known));
  }
}

std::string Reader::meant(std::string_view word, std::span<const std::string_view> known) {
  const auto found = nearest(word, known);
  return found ? "; did you mean \"" + std::string(*found) + "\"?" : std::string();
}

const toml::table* Reader::table(const toml::table& parent, std::string_view key) {
  const toml::node* node = parent.get(key);
  if (node == nullptr) return nullptr;
  if (const toml::table* found = node->as_table()) return found;
  error(node->source(),
        std::string(key) + " is " + type_name(*node) + ", expected the table [" + std::string(key) + "]");
  return nullptr;
}

std::optional<std::string> Reader::string(const toml::table& parent, std::string_view key) {
  const toml::node* node = parent.get(key);
  if (node == nullptr) return std::nullopt;
  if (const auto* value = node->as_string()) return value->get();
  error(node->source(), std::string(key) + " is " + type_name(*node) + ", expected a string");
  return std::nullopt;
}

std::optional<std::uint64_t> Reader::number(const toml::table& parent, std::string_view key,
                                            std::uint64_t least, std::uint64_t most) {
  const toml::node* node = parent.get(key);
  if (node == nullptr) return std::nullopt;
  const auto* value = node->as_integer();
  if (value == nullptr) {
    error(node->source(), std::string(key) + " is " + type_name(*node) + ", expected an integer");
    return std::nullopt;
  }
  const std::int64_t got = value->get();
  if (got < 0 || static_cast<std::uint64_t>(got) < least || static_cast<std::uint64_t>(got) > most) {
    error(node->source(), std::string(key) + " is " + std::to_string(got) + ", expected " +
                              std::to_string(least) + " to " + std::to_string(most));
    return std::nullopt;
  }
  return static_cast<std::uint64_t>(got);
}

Errors Reader::lines_of(std::vector<Found>& found) const {
  std::stable_sort(found.begin(), found.end(), [](const Found& a, const Found& b) {
    return std::pair(a.line, a.column) < std::pair(b.line, b.column);
  });
  Errors lines;
  for (const Found& one : found) {
    lines.push_back(file_ + ":" + std::to_string(one.line) + ":" + std::to_string(one.column) + ": " +
                    one.text);
  }
  found.clear();
  return lines;
}

}  // namespace hb::conf
