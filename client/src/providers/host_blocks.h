// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Blocks of host memory: a sealed memfd each.
#pragma once

#include <memory>

#include "providers/block_range.h"
#include "providers/provider.h"

namespace hb::client {

[[nodiscard]] Result<std::unique_ptr<BlockRange>> reserve_host_blocks(const AllocateRequest& request);

}  // namespace hb::client
