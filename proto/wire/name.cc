// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "wire/name.h"

#include <cstdio>

#include "wire/limits.h"

namespace hb {
namespace {

struct CodePoint {
  char32_t value = 0;
  std::size_t bytes = 0;  // 0 = not valid UTF-8 here
};

// The first code point of `text` (not empty). Shortest form only, no surrogates, up to U+10FFFF.
CodePoint first_code_point(std::string_view text) noexcept {
  const auto lead = static_cast<unsigned char>(text[0]);
  if (lead < 0x80) return {lead, 1};
  std::size_t bytes = 0;
  char32_t value = 0;
  char32_t lowest = 0;
  if ((lead & 0xe0) == 0xc0) {
    bytes = 2, value = lead & 0x1f, lowest = 0x80;
  } else if ((lead & 0xf0) == 0xe0) {
    bytes = 3, value = lead & 0x0f, lowest = 0x800;
  } else if ((lead & 0xf8) == 0xf0) {
    bytes = 4, value = lead & 0x07, lowest = 0x10000;
  } else {
    return {};
  }
  if (text.size() < bytes) return {};
  for (std::size_t i = 1; i < bytes; ++i) {
    const auto next = static_cast<unsigned char>(text[i]);
    if ((next & 0xc0) != 0x80) return {};
    value = (value << 6) | (next & 0x3f);
  }
  const bool surrogate = value >= 0xd800 && value <= 0xdfff;
  if (value < lowest || surrogate || value > 0x10ffff) return {};
  return {value, bytes};
}

bool is_control(char32_t value) noexcept { return value < 0x20 || (value >= 0x7f && value <= 0x9f); }

// What makes text look like another one: shown in another order than its bytes (ALM, LRM, RLM, the embeddings
// and overrides, the isolates), on another line, or not at all (zero-width spaces and joiners, invisible
// operators, the byte order mark).
bool misleads(char32_t value) noexcept {
  return value == 0x061c || (value >= 0x200b && value <= 0x200f) || (value >= 0x2028 && value <= 0x202e) ||
         (value >= 0x2060 && value <= 0x2064) || (value >= 0x2066 && value <= 0x2069) || value == 0xfeff;
}

std::string format_code(const char* format, unsigned code) {
  char text[16];
  std::snprintf(text, sizeof text, format, code);
  return text;
}

std::string at_byte(std::size_t offset) { return " at byte " + std::to_string(offset); }

tl::expected<void, std::string> check_part(std::string_view name, std::size_t begin, std::size_t end) {
  const std::string_view part = name.substr(begin, end - begin);
  if (part.empty()) {
    return tl::unexpected("the name has an empty part" + at_byte(begin) +
                          ": parts are separated by one '/', and none leads or ends the name");
  }
  if (part == "." || part == "..") {
    return tl::unexpected("the name has a part \"" + std::string(part) + "\"" + at_byte(begin) +
                          ": names are not paths");
  }
  return {};
}

}  // namespace

tl::expected<void, std::string> check_name(std::string_view name) {
  if (name.empty()) {
    return tl::unexpected("the name is empty at byte 0: a name has 1 to " +
                          std::to_string(limits::kNameBytes) + " bytes");
  }
  if (name.size() > limits::kNameBytes) {
    return tl::unexpected("the name has " + std::to_string(name.size()) + " bytes; it is too long" +
                          at_byte(limits::kNameBytes) + ", the limit is " +
                          std::to_string(limits::kNameBytes));
  }
  std::size_t part = 0;
  for (std::size_t at = 0; at < name.size();) {
    const CodePoint point = first_code_point(name.substr(at));
    if (point.bytes == 0) {
      return tl::unexpected("the name is not valid UTF-8: byte " +
                            format_code("0x%02X", static_cast<unsigned char>(name[at])) + at_byte(at));
    }
    if (is_control(point.value)) {
      return tl::unexpected("the name has the control character " +
                            format_code("U+%04X", static_cast<unsigned>(point.value)) + at_byte(at));
    }
    if (point.value == '/') {
      if (auto checked = check_part(name, part, at); !checked) return checked;
      part = at + 1;
    }
    at += point.bytes;
  }
  return check_part(name, part, name.size());
}

std::string escape_for_display(std::string_view text) {
  std::string shown;
  shown.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint point = first_code_point(text.substr(at));
    const char first = text[at];
    const bool plain_escape =
        point.bytes == 1 && (is_control(point.value) || first == '"' || first == '\'' || first == '\\');
    if (point.bytes == 0 || plain_escape) {
      shown += format_code("\\x%02X", static_cast<unsigned char>(first));
      ++at;
      continue;
    }
    if (is_control(point.value) || misleads(point.value)) {
      shown += format_code("\\u{%04X}", static_cast<unsigned>(point.value));
    } else {
      shown += text.substr(at, point.bytes);
    }
    at += point.bytes;
  }
  return shown;
}

}  // namespace hb
