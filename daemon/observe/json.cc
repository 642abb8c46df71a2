// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "observe/json.h"

#include <array>
#include <cstddef>
#include <cstdio>

namespace hb::observe {
namespace {

// Bytes of the UTF-8 character that the text begins with; 0 = it begins with none.
std::size_t character_bytes(std::string_view text) {
  const auto at = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = at(0);
  std::size_t length = 0;
  std::uint32_t code = 0;
  if (first < 0x80) return 1;
  if (first >= 0xc2 && first < 0xe0) {
    length = 2;
    code = first & 0x1fu;
  } else if (first >= 0xe0 && first < 0xf0) {
    length = 3;
    code = first & 0x0fu;
  } else if (first >= 0xf0 && first < 0xf5) {
    length = 4;
    code = first & 0x07u;
  }
  if (length == 0 || length > text.size()) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((at(i) & 0xc0u) != 0x80u) return 0;
    code = code << 6 | (at(i) & 0x3fu);
  }
  const bool overlong = (length == 3 && code < 0x800) || (length == 4 && code < 0x10000);
  const bool surrogate = code >= 0xd800 && code < 0xe000;
  return overlong || surrogate || code > 0x10ffff ? 0 : length;
}

}  // namespace

std::string json_string(std::string_view text) {
  std::string out = "\"";
  while (!text.empty()) {
    const std::size_t length = character_bytes(text);
    const char first = text.front();
    if (length == 0) {
      out += "\xef\xbf\xbd";
    } else if (first == '"' || first == '\\') {
      out += '\\';
      out += first;
    } else if (length == 1 && (static_cast<unsigned char>(first) < 0x20 || first == 0x7f)) {
      std::array<char, 8> escaped;
      std::snprintf(escaped.data(), escaped.size(), "\\u%04x",
                    static_cast<unsigned>(static_cast<unsigned char>(first)));
      out += escaped.data();
    } else {
      out += text.substr(0, length);
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return out + '"';
}

void JsonObject::add_key(std::string_view key) {
  if (text_.size() > 1) text_ += ',';
  text_.append("\"").append(key).append("\":");
}

JsonObject& JsonObject::add(std::string_view key, std::string_view text) {
  add_key(key);
  text_ += json_string(text);
  return *this;
}

JsonObject& JsonObject::add(std::string_view key, std::uint64_t number) {
  return add_raw(key, std::to_string(number));
}

JsonObject& JsonObject::add_null(std::string_view key) { return add_raw(key, "null"); }

JsonObject& JsonObject::add_raw(std::string_view key, std::string_view json) {
  add_key(key);
  text_ += json;
  return *this;
}

}  // namespace hb::observe
