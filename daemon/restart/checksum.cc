// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "restart/checksum.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace hb::restart {
namespace {

constexpr unsigned kCheckShift = 48;
constexpr std::uint64_t kNumberBits = (std::uint64_t{1} << kCheckShift) - 1;

std::uint64_t check_of(std::uint64_t number) noexcept {
  // Not 0 for 0: memory of zeros must not pass.
  return (XXH3_64bits(&number, sizeof number) | 1) << kCheckShift;
}

}  // namespace

std::uint64_t checksum(std::span<const std::byte> bytes) noexcept {
  return XXH3_64bits(bytes.data(), bytes.size());
}

std::uint64_t checksum(std::span<const std::byte> head, std::span<const std::byte> body) noexcept {
  return XXH3_64bits_withSeed(body.data(), body.size(), XXH3_64bits(head.data(), head.size()));
}

std::uint64_t with_check(std::uint64_t number) noexcept {
  return (number & kNumberBits) | check_of(number & kNumberBits);
}

std::optional<std::uint64_t> without_check(std::uint64_t word) noexcept {
  const std::uint64_t number = word & kNumberBits;
  if (with_check(number) != word) return std::nullopt;
  return number;
}

}  // namespace hb::restart
