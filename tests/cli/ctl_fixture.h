// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// hipbrokerctl against the daemon of a test.
#pragma once

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "cli/run_ctl.h"
#include "support/fixture.h"

namespace hb::test {

template <class Fixture = DaemonTest>
class WithCtl : public Fixture {
 protected:
  using Fixture::Fixture;

  Ran ctl(std::vector<std::string> arguments, const ProcessOptions& options = {}) {
    arguments.insert(arguments.begin(), {"--socket", this->daemon().socket(), "--timeout", "15"});
    return run_ctl(arguments, options);
  }
  nlohmann::json ctl_json(std::vector<std::string> arguments) {
    arguments.emplace_back("--json");
    const Ran ran = ctl(std::move(arguments));
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
    return nlohmann::json::parse(ran.out, nullptr, false);
  }
};

}  // namespace hb::test
