// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// What is said of a parked descriptor: 16 bytes beside it in the message, little-endian.
//
//   0  u32 kind    4  u32 check    8  u64 id
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "wire/little_endian.h"
#include "wire/unique_fd.h"

namespace hb::restart {

// Values are fixed for ever: they outlive the daemon that wrote them. One that is not listed is another
// version's; it is carried along until the records do not know it.
enum class ParkedKind : std::uint32_t {
  kHandle = 1,
  kSessionSocket = 2,
  kValidityPage = 3,
  kDoorbell = 4,
  kListener = 5,
  kClientReads = 6,
};

// (kind, id) names it, `check` is the owner's: it tells a descriptor of an earlier use of the id from this.
struct ParkedEntry {
  ParkedKind kind{};
  std::uint64_t id = 0;
  std::uint32_t check = 0;
  constexpr bool operator==(const ParkedEntry&) const = default;
};

inline constexpr std::size_t kParkedBytes = 16;

inline void store_entry(std::byte* at, const ParkedEntry& entry) {
  store_le(at, static_cast<std::uint32_t>(entry.kind));
  store_le(at + 4, entry.check);
  store_le(at + 8, entry.id);
}

[[nodiscard]] inline ParkedEntry load_entry(const std::byte* at) {
  return {static_cast<ParkedKind>(load_le<std::uint32_t>(at)), load_le<std::uint64_t>(at + 8),
          load_le<std::uint32_t>(at + 4)};
}

struct ParkedEntryHash {
  std::size_t operator()(const ParkedEntry& entry) const noexcept {
    const std::uint64_t kind = static_cast<std::uint64_t>(entry.kind) << 32 | entry.check;
    return static_cast<std::size_t>((entry.id * 0x9e3779b97f4a7c15ull ^ kind) * 0xff51afd7ed558ccdull >> 7);
  }
};

// An entry with the daemon's own descriptor, lent; and one that came back after a restart.
struct ToPark {
  ParkedEntry entry;
  BorrowedFd fd;
};
struct Restored {
  ParkedEntry entry;
  UniqueFd fd;
};

}  // namespace hb::restart
