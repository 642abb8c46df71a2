// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// How the core describes its entries to the outside. Views are borrowed from the tables.
#pragma once

#include "core/core.h"

namespace hb::core {

[[nodiscard]] ExportView view_of(const Core& core, std::uint32_t slot);
[[nodiscard]] SessionInfo session_info(const Core& core, std::uint32_t slot, Time now);
[[nodiscard]] Holder holder_of(const Core& core, std::uint32_t lease_slot, Time now);
// The daemon itself holds it; the session is its maker's, that may be gone.
[[nodiscard]] Holder holder_of_ticket(const Core& core, std::uint32_t ticket_slot, Time now);
[[nodiscard]] ExportInfo info_of(const Core& core, std::uint32_t slot, Time now);

}  // namespace hb::core
