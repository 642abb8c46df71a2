// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "restart/crash_point.h"

namespace hb::restart {

void crash_point(CrashPoint /*point*/) {}

}  // namespace hb::restart
