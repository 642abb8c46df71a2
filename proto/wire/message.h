// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Reading and writing messages described by message_field.h, as protobuf has them on the wire. What is
// instantiated where: message_codec.h.
#pragma once

#include <string>

#include "wire/expected.h"
#include "wire/message_field.h"

namespace hb::msg {

struct DecodeError {
  enum class Kind : std::uint8_t {
    kMalformed,  // not protobuf, or cut short
    kLimit,      // `field` brings more than `limit` bytes or entries
    kNoMemory,
  };
  Kind kind = Kind::kMalformed;
  const char* message = "";  // "AcquireReply"
  const char* field = "";    // kLimit: "metadata", perhaps of a message inside `message`
  std::size_t limit = 0;

  [[nodiscard]] std::string text() const;
};

// Replaces the content of `out`. Allocates only where `out` has not been as long before; throws nothing but
// std::bad_alloc.
template <typename Message>
void encode(const Message& message, std::string& out);

// Replaces the content of `out`, whose vectors keep their capacity; its texts and bytes point into `body`.
// After an error `out` holds what had been read. Never throws.
template <typename Message>
[[nodiscard]] tl::expected<void, DecodeError> decode_into(Bytes body, Message& out) noexcept;

template <typename Message>
[[nodiscard]] tl::expected<Message, DecodeError> decode(Bytes body) noexcept {
  Message message;
  if (auto read = decode_into(body, message); !read) return tl::unexpected(read.error());
  return message;
}

}  // namespace hb::msg
