// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#pragma once

#include "app/options.h"

namespace hb::app {

// Composition and life of the daemon: returns its exit code after SIGTERM or SIGINT, or when it cannot start.
[[nodiscard]] int run_daemon(const Settings& settings);

}  // namespace hb::app
