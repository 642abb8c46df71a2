// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Rules that never decide: told where it is certain, and only there.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "policy/policy_toml.h"

namespace hb::test {
namespace {

using testing::ElementsAre;

conf::Errors warnings_of(const std::string& text) {
  const auto loaded = policy::parse_policy(text, "p");
  return loaded ? loaded->warnings : loaded.error();
}

std::string two(const std::string& first, const std::string& second) {
  return "[[rule]]\n" + first + "\n[[rule]]\n" + second + "\n";
}

TEST(PolicyWarnings, ARuleBehindAWiderOne) {
  EXPECT_THAT(
      warnings_of("[[rule]]\nallow = \"all\"\n[[rule]]\ndeny = [\"export\"]\nuid = [1001]\n"),
      ElementsAre("p:3:1: warning: this rule never decides: whoever it is about fits an earlier one (line 1) "
                  "first; put it before that, or remove it"));
}

TEST(PolicyWarnings, SeveralEarlierOnesTogether) {
  EXPECT_THAT(
      warnings_of("[[rule]]\nallow = [\"list\", \"export\"]\nuid = [\"0-5\"]\n"
                  "[[rule]]\nallow = [\"list\"]\nuid = [6, \"7-9\"]\n"
                  "[[rule]]\nallow = [\"export\"]\nuid = [\"6-4294967294\"]\n"
                  "[[rule]]\ndeny = [\"list\", \"export\"]\nuid = [\"3-9\"]\n"),
      ElementsAre(
          "p:10:1: warning: this rule never decides: whoever it is about fits an earlier one (line 1, 4, "
          "7) first; put it before that, or remove it"));
}

TEST(PolicyWarnings, WhatIsCovered) {
  const std::vector<std::pair<std::string, std::string>> covered{
      {"allow = [\"list\"]", "deny = [\"list\"]"},
      {"allow = [\"list\"]\nuid = [\"0-4294967294\"]", "deny = [\"list\"]"},
      {"allow = [\"list\"]\ngid = [\"40-50\"]", "deny = [\"list\"]\ngid = [44, 45]\nuid = [1]"},
      {"allow = [\"list\"]\nscope = [\"job-*\"]", "deny = [\"list\"]\nscope = [\"job-1\", \"job-1*\"]"},
      {"allow = [\"list\"]\nscope = [\"*\"]", "deny = [\"list\"]"},
      {"allow = [\"list\"]\nuid = [5, 3, 4]", "deny = [\"list\"]\nuid = [\"3-5\"]"}};
  for (const auto& [first, second] : covered) EXPECT_EQ(warnings_of(two(first, second)).size(), 1u) << second;
}

TEST(PolicyWarnings, WhatStillDecides) {
  const std::vector<std::pair<std::string, std::string>> open{
      {"allow = [\"list\"]", "deny = [\"list\", \"export\"]"},
      {"allow = [\"list\"]\nuid = [\"0-4294967293\"]", "deny = [\"list\"]"},
      {"allow = [\"list\"]\nuid = [3, 5]", "deny = [\"list\"]\nuid = [\"3-5\"]"},
      {"allow = [\"list\"]\ngid = [44]", "deny = [\"list\"]"},
      {"allow = [\"list\"]\ngid = [44]", "deny = [\"list\"]\ngid = [44, 45]"},
      {"allow = [\"list\"]\nscope = [\"job-*\"]", "deny = [\"list\"]\nscope = [\"jo*\"]"},
      {"allow = [\"list\"]\nscope = [\"job-1\"]", "deny = [\"list\"]\nscope = [\"job-1*\"]"},
      {"allow = [\"list\"]\nscope = [\"main\"]", "deny = [\"list\"]"},
      {"allow = [\"list\"]\nuid = [1]\ngid = [2]", "deny = [\"list\"]\nuid = [1]"}};
  for (const auto& [first, second] : open)
    EXPECT_THAT(warnings_of(two(first, second)), ElementsAre()) << second;
}

TEST(PolicyWarnings, AFileThatAllowsNothing) {
  EXPECT_THAT(
      warnings_of("[quota]\nexports = 1\n"),
      ElementsAre("p:1:1: warning: no rule allows anything, so nobody may do anything; [[rule]] with allow = "
                  "[\"export\", \"acquire\", \"list\", \"revoke\"] allows what is usual"));
  EXPECT_EQ(warnings_of("[[rule]]\ndeny = \"all\"\n").size(), 1u);
}

}  // namespace
}  // namespace hb::test
