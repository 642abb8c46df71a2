// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cstdlib>
#include <iostream>
#include <random>
#include <string>
#include <vector>

#include "model/world.h"

namespace hb::test {

void showValue(const Command& command, std::ostream& out) {  // NOLINT: the name rapidcheck looks for
  out << "{";
  for (const std::uint8_t byte : command.bytes) out << static_cast<int>(byte) << ",";
  out << "}";
}

namespace {

// HIPBROKER_MODEL_RUNS: how many random histories; HIPBROKER_MODEL_SEED: where they begin.
std::uint64_t from_environment(const char* name, std::uint64_t otherwise) {
  const char* value = std::getenv(name);
  return value == nullptr ? otherwise : std::strtoull(value, nullptr, 10);
}

rc::Gen<Command> any_command() {
  return rc::gen::map(rc::gen::container<std::array<std::uint8_t, 8>>(rc::gen::inRange<std::uint8_t>(0, 255)),
                      [](const std::array<std::uint8_t, 8>& bytes) { return Command{bytes}; });
}

TEST(BrokerModel, AnyHistoryEndsLikeTheNaiveOne) {
  rc::detail::TestParams params;
  params.seed = from_environment("HIPBROKER_MODEL_SEED", std::random_device{}());
  params.maxSuccess = static_cast<int>(from_environment("HIPBROKER_MODEL_RUNS", 6000));
  params.maxSize = 400;
  rc::detail::TestMetadata metadata;
  metadata.id = "broker model";
  const auto result = rc::detail::checkTestable(
      [] {
        const auto history = *rc::gen::container<std::vector<Command>>(any_command());
        World world;
        for (const Command& command : history)
          if (const std::string wrong = world.step(command); !wrong.empty()) RC_FAIL(wrong);
        if (const std::string wrong = world.finish(); !wrong.empty()) RC_FAIL(wrong);
      },
      metadata, params);
  rc::detail::printResultMessage(result, std::cerr);
  std::cerr << "\nseed " << params.seed << "\n";
  EXPECT_TRUE(result.template is<rc::detail::SuccessResult>());
}

}  // namespace
}  // namespace hb::test
