// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include <gtest/gtest.h>

#include "observe/log.h"

namespace hb::test {
namespace {

constexpr std::uint64_t kSecond = 1'000'000'000;

TEST(Throttle, TellsHowManyLinesItLeftOut) {
  observe::Throttle throttle(2);
  const std::uint64_t start = 100 * kSecond;
  EXPECT_EQ(throttle.admit(start), 0u);
  EXPECT_EQ(throttle.admit(start + 1), 0u);
  EXPECT_FALSE(throttle.admit(start + 2));
  EXPECT_FALSE(throttle.admit(start + 10 * kSecond - 1));
  EXPECT_EQ(throttle.admit(start + 10 * kSecond), 2u);
  EXPECT_EQ(throttle.admit(start + 10 * kSecond), 0u);
  EXPECT_FALSE(throttle.admit(start + 10 * kSecond));
}

TEST(Log, LevelNames) {
  EXPECT_EQ(observe::level_from_name("debug"), observe::Level::kDebug);
  EXPECT_EQ(observe::level_from_name("info"), observe::Level::kInfo);
  EXPECT_EQ(observe::level_from_name("warning"), observe::Level::kWarning);
  EXPECT_EQ(observe::level_from_name("error"), observe::Level::kError);
  EXPECT_FALSE(observe::level_from_name("INFO"));
  EXPECT_FALSE(observe::level_from_name(""));
}

}  // namespace
}  // namespace hb::test
