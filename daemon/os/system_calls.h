// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// The system calls that the daemon makes once it serves, as a seccomp filter for all of its threads. What is
// not on the list answers EPERM; what only somebody else's code would try ends the process by SIGSYS.
#pragma once

#include <string>

#include "wire/expected.h"

namespace hb::os {

// no_new_privs must be set. The error says why there is no filter.
[[nodiscard]] tl::expected<void, std::string> restrict_system_calls();

}  // namespace hb::os
