// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Any body through the client's decoder: the first byte chooses the message, the rest is the body. What is
// accepted points into the body, and is the same after being written and read again.
#include "messages.h"
#include "require.h"
#include "unit/wire/message_values.h"
#include "wire/message_codec.h"

namespace {

namespace msg = hb::client::msg;
using hb::test::IsMessage;
using hb::test::IsOptional;
using hb::test::IsRepeated;

template <typename Value>
void require_inside(msg::Bytes body, const Value& value) {
  if constexpr (IsMessage<Value>) {
    std::apply([&](const auto&... field) { (require_inside(body, value.*field.member), ...); },
               Value::fields());
  } else if constexpr (IsRepeated<Value>) {
    for (const auto& entry : value) require_inside(body, entry);
  } else if constexpr (IsOptional<Value>) {
    if (value) require_inside(body, *value);
  } else if constexpr (std::is_same_v<Value, msg::Text> || std::is_same_v<Value, msg::Bytes>) {
    if (value.empty()) return;
    const auto* begin = reinterpret_cast<const std::byte*>(value.data());
    HB_REQUIRE(begin >= body.data() && begin + value.size() <= body.data() + body.size());
  }
}

template <typename Message>
void decode_any(msg::Bytes body) {
  const auto message = msg::decode<Message>(body);
  if (!message) {
    HB_REQUIRE(!message.error().text().empty());
    return;
  }
  require_inside(body, *message);
  std::string bytes;
  msg::encode(*message, bytes);
  const auto again = msg::decode<Message>(std::as_bytes(std::span(bytes)));
  HB_REQUIRE(again.has_value());
  HB_REQUIRE(hb::test::equal(*again, *message));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  if (size == 0) return 0;
#define HB_DECODER(Name) &decode_any<msg::Name>,
  static constexpr void (*kDecoders[])(msg::Bytes) = {HB_EVERY_RECEIVED_MESSAGE(HB_DECODER)};
#undef HB_DECODER
  const msg::Bytes body(reinterpret_cast<const std::byte*>(data) + 1, size - 1);
  kDecoders[data[0] % std::size(kDecoders)](body);
  return 0;
}
