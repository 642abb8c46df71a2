// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// One flat JSON object on one line.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace hb::observe {

class JsonObject {
 public:
  JsonObject& add(std::string_view key, std::string_view text);
  JsonObject& add(std::string_view key, std::uint64_t number);
  JsonObject& add_null(std::string_view key);
  // A number with a fraction, or a nested object, written by the caller.
  JsonObject& add_raw(std::string_view key, std::string_view json);
  [[nodiscard]] std::string done() const { return text_ + '}'; }

 private:
  void add_key(std::string_view key);
  std::string text_ = "{";
};

// Quoted. Bytes that are no UTF-8 become U+FFFD: a reader of JSON takes nothing else.
[[nodiscard]] std::string json_string(std::string_view text);

}  // namespace hb::observe
