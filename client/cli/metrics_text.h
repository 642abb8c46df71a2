// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#pragma once

#include <span>
#include <string>

#include "hipbroker/hipbroker.h"
#include "hipbroker/quotas.h"

namespace hb::cli {

// The daemon's counters and everybody's accounts as Prometheus reads them; docs/metrics.md lists the names.
[[nodiscard]] std::string metrics_text(const hb_client_info& info, const hb_daemon_status& status,
                                       std::span<const hb_account* const> accounts);
// Where no daemon answers.
[[nodiscard]] std::string metrics_text_of_no_daemon();

}  // namespace hb::cli
