// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// What the daemon tells the service manager of itself. Each is a no-op without $NOTIFY_SOCKET, and none
// blocks for longer than kNotifyWaitNs: a manager that does not listen is the manager's trouble.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace hb::os {

void notify_ready(const std::string& status);
// One line for `systemctl status`; line breaks in it become spaces.
void notify_status(const std::string& status);
void notify_stopping();
// Before a configuration is read again; notify_ready() follows when that is done.
void notify_reloading();

// How often a manager that watches this process wants to hear of it, at least ($WATCHDOG_USEC, by
// $WATCHDOG_PID). Ping twice as often.
[[nodiscard]] std::optional<std::uint64_t> watchdog_interval_ns();
void notify_watchdog();

}  // namespace hb::os
