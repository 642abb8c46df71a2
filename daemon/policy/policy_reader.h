// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// The values that occur in policy.toml, each with its complaints.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "conf/reader.h"
#include "core/rights.h"
#include "policy/quota_rules.h"
#include "policy/selector.h"

namespace hb::policy {

[[nodiscard]] Selector read_selector(conf::Reader& reader, const toml::table& table);
[[nodiscard]] core::Rights read_verbs(conf::Reader& reader, const toml::node& node, std::string_view key);
[[nodiscard]] Amounts read_amounts(conf::Reader& reader, const toml::table& table);
void add_amount_keys(std::vector<std::string_view>& keys);

}  // namespace hb::policy
