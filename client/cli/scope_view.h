// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "hipbroker/scopes.h"
#include "json.h"
#include "table.h"

namespace hb::cli {

// Of the scope that is always there. In it nobody needs to be told where he is.
inline constexpr std::string_view kMainScope = "main";
[[nodiscard]] inline bool is_main_scope(const char* scope) {
  return scope == nullptr || *scope == '\0' || scope == kMainScope;
}

[[nodiscard]] std::string scope_added_text(const std::string& name, const std::string& directory,
                                           std::span<const std::uint32_t> uids);
[[nodiscard]] std::string scope_removed_text(const std::string& name, const hb_scope_removed& removed);
[[nodiscard]] Json scope_removed_json(const std::string& name, const hb_scope_removed& removed);
[[nodiscard]] Table scopes_table(std::span<const hb_scope* const> scopes);
[[nodiscard]] Json scopes_json(std::span<const hb_scope* const> scopes);

}  // namespace hb::cli
