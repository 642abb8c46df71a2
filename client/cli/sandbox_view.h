// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#pragma once

#include <cstdint>
#include <string>

#include "json.h"

namespace hb::cli {

// Of HB_SANDBOX_ bits: the layers that hold, "off", or that nothing is told.
[[nodiscard]] std::string sandbox_text(std::uint64_t bits);
// Those that do not.
[[nodiscard]] std::string sandbox_missing(std::uint64_t bits);
// {LAYER: bool}, or null where nothing is told.
[[nodiscard]] Json sandbox_json(std::uint64_t bits);

}  // namespace hb::cli
