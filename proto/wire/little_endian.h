// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#pragma once

#include <cstddef>
#include <type_traits>

namespace hb {

// Little-endian numbers at any alignment, of std::byte or std::uint8_t. The caller has checked that
// sizeof(Number) bytes are there. Both compile to one load or store on little-endian machines.
template <typename Number, typename Byte>
[[nodiscard]] constexpr Number load_le(const Byte* at) noexcept {
  static_assert(std::is_unsigned_v<Number> && sizeof(Byte) == 1);
  Number value = 0;
  for (std::size_t i = 0; i < sizeof(Number); ++i) {
    value = static_cast<Number>(value | static_cast<Number>(static_cast<Number>(at[i]) << (8 * i)));
  }
  return value;
}

template <typename Number, typename Byte>
constexpr void store_le(Byte* at, Number value) noexcept {
  static_assert(std::is_unsigned_v<Number> && sizeof(Byte) == 1);
  for (std::size_t i = 0; i < sizeof(Number); ++i) {
    at[i] = static_cast<Byte>((value >> (8 * i)) & 0xff);
  }
}

}  // namespace hb
