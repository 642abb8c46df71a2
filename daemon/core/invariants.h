// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// What must hold between any two events. For tests, and for a daemon told to check itself.
#pragma once

#include <string>

#include "core/core.h"

namespace hb::core {

// Empty, or the first that does not hold. Looks at every entry of every table.
[[nodiscard]] std::string first_broken_invariant(const Core& core);

// invariants_accounts.cc: what is charged is what is there.
[[nodiscard]] std::string check_accounts(const Core& core);

}  // namespace hb::core
