// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Which uids and gids mean one user here. In a user namespace that does not map them all the kernel shows
// every other one as the same number, the overflow id (65534): it may be anyone's, and must match nothing.
#pragma once

#include <cstdint>
#include <string>

namespace hb::os {

struct IdMap {
  std::uint64_t mapped = 0;  // how many ids of the outside have a number here
  std::uint32_t overflow = 65534;

  [[nodiscard]] bool whole() const { return mapped >= UINT32_MAX; }
  // False: as this number appear all that have none.
  [[nodiscard]] bool tells(std::uint32_t id) const { return whole() || id != overflow; }
};

struct IdMaps {
  IdMap uids;
  IdMap gids;
  // By /proc; a kernel without user namespaces maps all.
  [[nodiscard]] static IdMaps of_process();
};

// Lines of "inside outside count", as in /proc/PID/uid_map.
[[nodiscard]] std::uint64_t count_mapped(const std::string& text);

}  // namespace hb::os
