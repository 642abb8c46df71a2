// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#pragma once

#include <cstddef>

#include "error.h"
#include "providers/hip/abi.h"

namespace hb::probe {

// By `device`, on a stream of our own, waited for.
[[nodiscard]] client::Result<void> copy(const client::hip::HipTable& hip, int device, void* to,
                                        const void* from, std::size_t bytes, client::hip::CopyKind kind);

}  // namespace hb::probe
