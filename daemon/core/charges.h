// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// What one session has open, by resource; its share of what is charged to its account.
#pragma once

#include <array>
#include <cstdint>

#include "core/resource.h"

namespace hb::core {

struct Charges {
  std::array<std::uint64_t, kResources> count{};
  [[nodiscard]] std::uint64_t of(Resource resource) const {
    return count[static_cast<std::size_t>(resource)];
  }
  [[nodiscard]] std::uint64_t& of(Resource resource) { return count[static_cast<std::size_t>(resource)]; }
};

}  // namespace hb::core
