// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#pragma once

#include "wire/expected.h"
#include "wire/sys_error.h"

namespace hb::os {

// What an exec could bring back. Does nothing for a thread without CAP_SETPCAP: to be called while still
// root.
[[nodiscard]] tl::expected<void, SysError> drop_bounding_set();

// Empties every capability set of the calling thread: effective, permitted, inheritable and ambient, and the
// bounding set where the thread may. Threads that run already keep theirs.
[[nodiscard]] tl::expected<void, SysError> drop_capabilities();

}  // namespace hb::os
