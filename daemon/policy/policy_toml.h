// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// policy.toml (docs/policy.md).
#pragma once

#include <string>
#include <string_view>

#include "conf/errors.h"
#include "policy/policy.h"
#include "wire/expected.h"

namespace hb::policy {

inline constexpr const char* kDefaultFile = "/etc/hipbroker/policy.toml";

struct Loaded {
  Policy policy;
  conf::Errors warnings;  // in the form of errors: rules that never decide
};

[[nodiscard]] tl::expected<Loaded, conf::Errors> parse_policy(std::string_view text, const std::string& file);
[[nodiscard]] tl::expected<Loaded, conf::Errors> read_policy(const std::string& file);

}  // namespace hb::policy
