// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// A real daemon's audit trail as `hipbrokerctl audit --json` tells it.
#pragma once

#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "cli/ctl_fixture.h"
#include "support/fixture.h"

namespace hb::test {

class AuditFixture : public WithCtl<> {
 protected:
  using WithCtl::WithCtl;

  std::vector<nlohmann::json> records(std::vector<std::string> arguments = {}) {
    arguments.insert(arguments.begin(), {"audit", "--json"});
    const Ran ran = ctl(arguments);
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
    std::vector<nlohmann::json> out;
    std::istringstream lines(ran.out);
    for (std::string line; std::getline(lines, line);) out.push_back(nlohmann::json::parse(line));
    return out;
  }
  std::vector<nlohmann::json> of_kind(const std::string& kind) { return records({"--kind", kind}); }
  // The one record of that kind.
  nlohmann::json only(const std::string& kind) {
    auto all = of_kind(kind);
    EXPECT_EQ(all.size(), 1u) << kind;
    return all.empty() ? nlohmann::json::object() : all.front();
  }
};

}  // namespace hb::test
