// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Any text through key_from_text. Text that is a key is the only text of that key; 64 bytes as they are
// make a key whose text reads back.
#include <algorithm>

#include "require.h"
#include "wire/key.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto key = hb::key_from_text(text)) HB_REQUIRE(hb::key_to_text(*key) == text);

  hb::KeyBytes key{};
  if (size < key.size()) return 0;
  std::copy_n(data, key.size(), key.begin());
  const auto back = hb::key_from_text(hb::key_to_text(key));
  HB_REQUIRE(back.has_value() && *back == key);

  const hb::Secret secret{1, 2, 3};
  const hb::KeyBytes made = hb::encode_key(hb::decode_key(key), secret);
  HB_REQUIRE(hb::key_is_authentic(made, secret));
  HB_REQUIRE(std::equal(made.begin(), made.begin() + 48, key.begin()));
  return 0;
}
