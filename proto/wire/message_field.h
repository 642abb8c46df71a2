// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// How a message says what it is made of. Each struct carries one table of its fields (number, name,
// member), which encoder, decoder and the conformance test all read: what is not in the table does not
// exist, and what is in it is held to broker.proto by number, name and type.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <tuple>
#include <vector>

#include "wire/limits.h"

namespace hb::msg {

// Text and bytes are views: of the caller's memory when a message is sent, of the frame when it was received.
using Text = std::string_view;
using Bytes = std::span<const std::byte>;

enum class Coding : std::uint8_t { kPlain, kZigzag };  // zigzag: the .proto's sint32

// `kMax` bounds what a peer may send: bytes of a text, entries of a repeated field. 0: the frame is the
// bound.
template <std::uint32_t kNumberOf, std::size_t kMaxOf, Coding kCodingOf, typename Message, typename Value>
struct Field {
  static constexpr std::uint32_t kNumber = kNumberOf;
  static constexpr std::size_t kMax = kMaxOf;
  static constexpr Coding kCoding = kCodingOf;
  const char* name;
  Value Message::*member;
};

template <std::uint32_t kNumber, std::size_t kMax = 0, Coding kCoding = Coding::kPlain, typename Message,
          typename Value>
constexpr Field<kNumber, kMax, kCoding, Message, Value> field(const char* name, Value Message::*member) {
  return {name, member};
}

}  // namespace hb::msg

// Inside a struct, last: HB_MESSAGE(Fetch, HB_FIELD(1, lease_id), ...).
#define HB_MESSAGE(Name, ...)                 \
  using Self = Name;                          \
  static constexpr const char* kName = #Name; \
  static constexpr auto fields() { return std::make_tuple(__VA_ARGS__); }
#define HB_FIELD(number, member) field<number>(#member, &Self::member)
#define HB_FIELD_MAX(number, member, max) field<number, max>(#member, &Self::member)
#define HB_FIELD_ZIGZAG(number, member) field<number, 0, Coding::kZigzag>(#member, &Self::member)
