// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#pragma once

#include <compare>
#include <cstdint>
#include <functional>

namespace hb::core {

// Nanoseconds of a clock that only rises. An argument everywhere: the core has no clock.
using Time = std::uint64_t;
inline constexpr Time kNever = UINT64_MAX;

// Strong ids. Value 0 is "none". Ids of table entries carry the slot in the low 32 bits and the number of
// times the slot was used in the high 32, so that a lookup is an index and an old id never finds new data.
template <class Tag>
struct Id {
  std::uint64_t value = 0;
  constexpr auto operator<=>(const Id&) const = default;
  constexpr explicit operator bool() const { return value != 0; }
  [[nodiscard]] constexpr std::uint32_t slot() const { return static_cast<std::uint32_t>(value); }
  [[nodiscard]] constexpr std::uint32_t use() const { return static_cast<std::uint32_t>(value >> 32); }
  static constexpr Id of(std::uint32_t slot, std::uint32_t use) {
    return Id{static_cast<std::uint64_t>(use) << 32 | slot};
  }
};

using SessionId = Id<struct SessionTag>;
using ExportId = Id<struct ExportTag>;
using LeaseId = Id<struct LeaseTag>;
using TicketId = Id<struct TicketTag>;
using GroupId = Id<struct GroupTag>;
using AllocationId = Id<struct AllocationTag>;
using HandleId = Id<struct HandleTag>;  // a descriptor that the edge holds; the core never sees its number
using ScopeId = Id<struct ScopeTag>;

}  // namespace hb::core

template <class Tag>
struct std::hash<hb::core::Id<Tag>> {
  std::size_t operator()(const hb::core::Id<Tag>& id) const noexcept {
    return static_cast<std::size_t>(id.value * 0x9e3779b97f4a7c15ull);
  }
};
