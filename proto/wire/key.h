// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// The key: 64 bytes that name an export or a sub-range of it. Pure. All numbers little-endian.
//
//   0  u16  version (1)        2  u16 kind (0 key, 1 ticket)
//   4  16   broker id         20  u64 export id       28  u32 generation
//  32  u64  offset            40  u64 length          48  16 MAC over bytes 0..47
//
// The MAC is SipHash-2-4-128 under the secret of (export, generation). It proves that the key was made by
// the broker or by a holder; it is not the right to read, which is the ACL's (design rule 7).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "wire/expected.h"

namespace hb {

using BrokerId = std::array<std::uint8_t, 16>;
using KeyBytes = std::array<std::uint8_t, 64>;
using Secret = std::array<std::uint8_t, 16>;
using Mac = std::array<std::uint8_t, 16>;

inline constexpr std::uint16_t kKeyVersion = 1;
enum class KeyKind : std::uint16_t { kKey = 0, kTicket = 1 };

struct KeyFields {
  std::uint16_t version = kKeyVersion;
  KeyKind kind = KeyKind::kKey;
  BrokerId broker{};
  std::uint64_t export_id = 0;
  std::uint32_t generation = 0;
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
};

[[nodiscard]] Mac siphash128(const Secret& secret, std::span<const std::uint8_t> data) noexcept;

[[nodiscard]] KeyBytes encode_key(const KeyFields& fields, const Secret& secret) noexcept;
[[nodiscard]] KeyFields decode_key(const KeyBytes& key) noexcept;  // MAC not looked at
// Constant time in the MAC.
[[nodiscard]] bool key_is_authentic(const KeyBytes& key, const Secret& secret) noexcept;

// The secret of one generation of one export, derived, so that older generations need no storage.
[[nodiscard]] Secret derive_secret(const Secret& master, std::uint64_t export_id,
                                   std::uint32_t generation) noexcept;

// "hbk1_" and 86 characters of base64url without padding.
inline constexpr std::size_t kKeyTextBytes = 91;
[[nodiscard]] std::string key_to_text(const KeyBytes& key);
enum class KeyTextError : std::uint8_t { kPrefix, kLength, kCharacter };
[[nodiscard]] tl::expected<KeyBytes, KeyTextError> key_from_text(std::string_view text) noexcept;

}  // namespace hb
