// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "messages.h"

#include "messages_codec.h"

namespace hb::client::msg {

std::string DecodeError::text() const {
  switch (kind) {
    case Kind::kMalformed:
      return std::string(message) + ": not a valid protobuf message, or cut short";
    case Kind::kLimit:
      return std::string(message) + ": field '" + field + "' is over the limit of " + std::to_string(limit);
    case Kind::kNoMemory:
      return std::string(message) + ": out of memory while reading it";
  }
  return message;
}

#define HB_ENCODE(Name) template void encode<Name>(const Name&, std::string&);
#define HB_DECODE(Name) template tl::expected<void, DecodeError> decode_into<Name>(Bytes, Name&) noexcept;
HB_EVERY_SENT_MESSAGE(HB_ENCODE)
HB_EVERY_RECEIVED_MESSAGE(HB_DECODE)

}  // namespace hb::client::msg
