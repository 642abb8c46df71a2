// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// One piece of host memory that can be shared: a sealed memfd and its mapping here.
#pragma once

#include <cstdint>
#include <string>

#include "error.h"
#include "wire/unique_fd.h"

namespace hb::client {

// Makes one of `bytes` and maps it over [at, at + bytes), which is reserved. `sealed`: only that mapping can
// ever write. Errors say `doing` and carry the chunk's number; the addresses are then
// held as before.
[[nodiscard]] Result<UniqueFd> make_host_object(void* at, std::uint64_t bytes, bool sealed,
                                                const std::string& doing, std::int64_t chunk);

}  // namespace hb::client
