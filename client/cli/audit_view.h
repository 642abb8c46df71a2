// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "json.h"

namespace hb::cli {

inline constexpr std::array<std::string_view, 10> kAuditKinds{
    "acquired",    "released",      "refused",         "quota",     "revoked",
    "scope-added", "scope-removed", "policy-reloaded", "quota-set", "left-out"};

struct AuditFilter {
  std::string kind;  // "" = every
  std::optional<std::uint32_t> uid;
};

[[nodiscard]] bool is_shown(const Json& record, const AuditFilter& filter);

// One record on one line for a person. What a later daemon adds is left out.
[[nodiscard]] std::string audit_line(const Json& record);

}  // namespace hb::cli
