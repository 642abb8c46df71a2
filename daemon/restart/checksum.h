// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace hb::restart {

// Against memory that is not what it should be, never against an enemy.
[[nodiscard]] std::uint64_t checksum(std::span<const std::byte> bytes) noexcept;
// Of both, one after the other.
[[nodiscard]] std::uint64_t checksum(std::span<const std::byte> head,
                                     std::span<const std::byte> body) noexcept;

// A number below 2^48 with 16 bits that check it: one store of eight bytes changes both.
[[nodiscard]] std::uint64_t with_check(std::uint64_t number) noexcept;
[[nodiscard]] std::optional<std::uint64_t> without_check(std::uint64_t word) noexcept;

}  // namespace hb::restart
