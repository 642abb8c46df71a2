// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// GPU memory of the library's own, as the rest of the client sees it.
#pragma once

#include <memory>

#include "providers/hip/provider.h"
#include "providers/hip/vmm.h"

namespace hb::client::hip {

[[nodiscard]] Result<std::unique_ptr<Allocation>> allocate_on(Known known, AllocateSpec spec);

}  // namespace hb::client::hip
