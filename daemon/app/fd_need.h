// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace hb::app {

// Why a daemon that keeps `base` descriptors open for itself cannot serve a single session under `limit`:
// it would start, look healthy and refuse everybody. Nothing when it can.
[[nodiscard]] std::optional<std::string> refuse_fd_limit(std::uint64_t limit, std::uint64_t base,
                                                         std::uint64_t per_session);

}  // namespace hb::app
