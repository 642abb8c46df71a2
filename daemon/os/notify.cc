// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "os/notify.h"

#include <systemd/sd-daemon.h>

namespace hb::os {

void notify_ready(const std::string& status) { ::sd_notify(0, ("READY=1\nSTATUS=" + status).c_str()); }

void notify_stopping() { ::sd_notify(0, "STOPPING=1"); }

}  // namespace hb::os
