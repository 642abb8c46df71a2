// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#pragma once

#include <string>
#include <vector>

#include "conf/errors.h"
#include "policy/policy_toml.h"
#include "wire/expected.h"

namespace hb::app {

// Where the policy comes from, at the start and at each reload.
struct PolicySource {
  std::string file = policy::kDefaultFile;
  bool named = false;  // by somebody: then it must exist

  // The built-in policy where nobody named a file and none is there.
  [[nodiscard]] tl::expected<policy::Loaded, conf::Errors> read() const;
};

// "FILE: ok, 3 rules, 1 quota override" and its warnings.
[[nodiscard]] std::vector<std::string> describe(const policy::Loaded& loaded);

}  // namespace hb::app
