// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// What an admin changed, for the audit trail.
#pragma once

#include <optional>

#include "core/effect.h"
#include "ipc/administration.h"

namespace hb::ipc {

// Without who asked. Nothing for what only looks.
[[nodiscard]] std::optional<core::Audit> audit_of(const AdminRequest& asked, const AdminReply& reply);
[[nodiscard]] core::Audit audit_of(const Reloaded& reloaded);

}  // namespace hb::ipc
