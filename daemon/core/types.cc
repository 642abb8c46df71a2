// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "core/types.h"

#include <algorithm>

namespace hb::core {

bool Principal::in_group(std::uint32_t group) const {
  return std::binary_search(groups.begin(), groups.end(), group);
}

}  // namespace hb::core
