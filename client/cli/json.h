// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "hipbroker/hipbroker.h"

namespace hb::cli {

using Json = nlohmann::ordered_json;

// The keys are documented in docs/hipbrokerctl.md and never change their meaning; new ones may come.
[[nodiscard]] Json to_json(const hb_process& process);
[[nodiscard]] Json to_json(const hb_listed& listed);
[[nodiscard]] Json to_json(const hb_held& held);
[[nodiscard]] Json to_json(const hb_shown_chunk& chunk);
[[nodiscard]] Json to_json(const hb_acl_entry& entry);
[[nodiscard]] Json string_or_null(const char* text);  // null for ""

// Pure ASCII, so that no name reaches a terminal raw; bytes that are not UTF-8 become U+FFFD.
[[nodiscard]] std::string dump(const Json& json);

}  // namespace hb::cli
