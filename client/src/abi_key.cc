// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include <cstring>

#include "abi.h"
#include "wire/key.h"

using namespace hb::client;

namespace {

hb::KeyBytes bytes_of(const hb_key& key) {
  hb::KeyBytes bytes{};
  std::memcpy(bytes.data(), key.bytes, bytes.size());
  return bytes;
}

const char* reason(hb::KeyTextError error) {
  switch (error) {
    case hb::KeyTextError::kPrefix:
      return "the text of a key begins with \"hbk1_\"";
    case hb::KeyTextError::kLength:
      return "the text of a key has 91 characters";
    case hb::KeyTextError::kCharacter:
      break;
  }
  return "the text of a key consists of letters, digits, '-' and '_' after its prefix";
}

}  // namespace

static_assert(HB_KEY_PLAIN == static_cast<int>(hb::KeyKind::kKey) &&
              HB_KEY_TICKET == static_cast<int>(hb::KeyKind::kTicket));
static_assert(HB_KEY_TEXT_BYTES == hb::kKeyTextBytes + 1 && HB_KEY_BYTES == sizeof(hb::KeyBytes));

hb_status hb_key_inspect(const hb_key* key, hb_key_info* ret_info, hb_error* error) {
  return boundary(nullptr, error, [&]() -> Result<void> {
    if (key == nullptr) return null_argument("key");
    if (auto room = check_info(ret_info, "ret_info"); !room) return room;
    const hb::KeyFields fields = hb::decode_key(bytes_of(*key));
    if (fields.version != hb::kKeyVersion)
      return fail(HB_VERSION, "the key has version " + std::to_string(fields.version) +
                                  "; this library knows version " + std::to_string(hb::kKeyVersion));
    hb_key_info info = HB_KEY_INFO_INIT;
    info.version = fields.version;
    std::memcpy(info.broker_id, fields.broker.data(), sizeof info.broker_id);
    info.export_id = fields.export_id;
    info.generation = fields.generation;
    info.offset = fields.offset;
    info.length = fields.length;
    info.kind = static_cast<std::uint32_t>(fields.kind);
    write_info(info, ret_info);
    return {};
  });
}

void hb_key_to_text(const hb_key* key, char ret_text[HB_KEY_TEXT_BYTES]) {
  if (ret_text == nullptr) return;
  ret_text[0] = '\0';
  if (key == nullptr) return;
  boundary(nullptr, nullptr, [&]() -> Result<void> {
    const std::string text = hb::key_to_text(bytes_of(*key));
    std::memcpy(ret_text, text.c_str(), HB_KEY_TEXT_BYTES);
    return {};
  });
}

hb_status hb_key_from_text(const char* text, hb_key* ret_key, hb_error* error) {
  return boundary(nullptr, error, [&]() -> Result<void> {
    if (text == nullptr) return null_argument("text");
    if (ret_key == nullptr) return null_argument("ret_key");
    const auto key = hb::key_from_text(text);
    if (!key) return fail(HB_INVALID, reason(key.error()));
    std::memcpy(ret_key->bytes, key->data(), key->size());
    return {};
  });
}
