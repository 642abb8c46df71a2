// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#pragma once

#include <string>

namespace hb::os {

// The service manager's protocol; each is a no-op without $NOTIFY_SOCKET.
void notify_ready(const std::string& status);
void notify_stopping();

}  // namespace hb::os
