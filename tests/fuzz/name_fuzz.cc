// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Any bytes through check_name and escape_for_display. An accepted name keeps the rules a reader of bytes
// can check; what is displayed is bounded and holds nothing that moves a cursor.
#include "require.h"
#include "wire/limits.h"
#include "wire/name.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto checked = hb::check_name(text);
  if (checked) {
    HB_REQUIRE(!text.empty() && text.size() <= hb::limits::kNameBytes);
    HB_REQUIRE(text.front() != '/' && text.back() != '/');
    HB_REQUIRE(text.find("//") == std::string_view::npos);
    HB_REQUIRE(text.find('\0') == std::string_view::npos);
  } else {
    HB_REQUIRE(checked.error().find("byte") != std::string::npos);
  }

  const std::string shown = hb::escape_for_display(text);
  HB_REQUIRE(shown.size() <= 4 * size);
  for (const char byte : shown) {
    HB_REQUIRE(static_cast<unsigned char>(byte) >= 0x20 && byte != 0x7f && byte != '"' && byte != '\'');
  }
  return 0;
}
