// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// What a descriptor of memory is.
#pragma once

#include <cstdint>

#include "wire/unique_fd.h"

namespace hb::client {

// HB_KIND_*: a memfd has seals, a dma-buf `exp_name` in its fdinfo, and what has neither is a driver's own. A
// guess for the daemon, which finds out for itself.
[[nodiscard]] std::uint32_t kind_of(BorrowedFd fd);

}  // namespace hb::client
