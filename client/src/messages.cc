// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "messages.h"

#include "wire/message_codec.h"

namespace hb::msg {

#define HB_ENCODE(Name) template void encode<client::msg::Name>(const client::msg::Name&, std::string&);
#define HB_DECODE(Name) \
  template tl::expected<void, DecodeError> decode_into<client::msg::Name>(Bytes, client::msg::Name&) noexcept;
HB_EVERY_SENT_MESSAGE(HB_ENCODE)
HB_EVERY_RECEIVED_MESSAGE(HB_DECODE)

}  // namespace hb::msg
