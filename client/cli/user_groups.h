// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace hb::cli {

// The groups that a login of `uid` gets by the user database of this machine; nothing where it has no such
// user. A process may have others.
[[nodiscard]] std::optional<std::vector<std::uint32_t>> groups_of_user(std::uint32_t uid);

}  // namespace hb::cli
