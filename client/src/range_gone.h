// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Memory that is about to be unmapped or freed stays shared with nobody.
#pragma once

#include <cstdint>

#include "client.h"
#include "error.h"
#include "exports.h"

namespace hb::client {

// Cheap, and without a lock: nothing is known of these addresses.
[[nodiscard]] bool nothing_known_of(const void* ptr, std::uint64_t bytes) noexcept;

// Ends every export over the range, whichever client made it, within HB_RANGE_GONE_NS.
[[nodiscard]] Result<WithdrawnCount> range_gone(const void* ptr, std::uint64_t bytes);

// Ends one export, if need be with its session: the daemon drops at its end what it does not answer for.
[[nodiscard]] Result<WithdrawnCount> end_export(Client& client, ExportRecord& record,
                                                std::uint64_t deadline_ns);

}  // namespace hb::client
