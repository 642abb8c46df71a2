// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// What the configuration allows to whom, beyond what everybody may.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/types.h"

namespace hb::ipc {

struct Rights {
  std::vector<std::uint32_t> persist_uids;
  std::vector<std::uint32_t> persist_gids;

  // Lifetime persist: memory that nobody's end gives back.
  [[nodiscard]] bool may_persist(const core::Principal& who) const {
    const auto holds = [](const std::vector<std::uint32_t>& ids, std::uint32_t id) {
      return std::find(ids.begin(), ids.end(), id) != ids.end();
    };
    return holds(persist_uids, who.uid) ||
           std::any_of(who.groups.begin(), who.groups.end(),
                       [&](std::uint32_t group) { return holds(persist_gids, group); });
  }
};

}  // namespace hb::ipc
