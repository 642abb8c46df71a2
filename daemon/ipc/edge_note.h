// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// What the records keep of a session for the edge (Broker::note_edge), in one number. Bits are never used for
// something else: an older and a newer daemon read each other's.
#pragma once

#include <cstdint>

namespace hb::ipc {

struct EdgeNote {
  bool resumes = false;        // its client goes on with a daemon started again
  bool uid_unknown = false;    // it has no number in the daemon's user namespace
  std::uint16_t page = 0;      // which page of validity words it has, the first is 1; 0 = none
  std::uint16_t doorbell = 0;  // likewise
  bool operator==(const EdgeNote&) const = default;

  [[nodiscard]] constexpr std::uint64_t word() const {
    return (resumes ? 1u : 0u) | (uid_unknown ? 2u : 0u) | std::uint64_t{page} << 16 |
           std::uint64_t{doorbell} << 32;
  }
  [[nodiscard]] static constexpr EdgeNote of(std::uint64_t word) {
    return {(word & 1) != 0, (word & 2) != 0, static_cast<std::uint16_t>(word >> 16),
            static_cast<std::uint16_t>(word >> 32)};
  }
};

// The next one: 0 stays "none" when the count begins anew.
[[nodiscard]] constexpr std::uint16_t next_of(std::uint16_t count) {
  return count == UINT16_MAX ? std::uint16_t{1} : static_cast<std::uint16_t>(count + 1);
}

}  // namespace hb::ipc
