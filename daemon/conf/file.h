// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#pragma once

#include <cstdint>
#include <string>

#include "conf/errors.h"
#include "wire/expected.h"

namespace hb::conf {

inline constexpr std::uint64_t kMostFileBytes = 1u << 20;

// The text of a configuration file: a regular file of at most kMostFileBytes, never waited for. Else why not,
// as one error.
[[nodiscard]] tl::expected<std::string, Errors> read_file(const std::string& file);

}  // namespace hb::conf
