// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "policy/quota_rules.h"

#include <gtest/gtest.h>

#include "policy/policy_toml.h"

namespace hb::test {
namespace {

using core::LimitSet;
using core::Resource;

policy::Policy parse(const std::string& text) {
  auto loaded = policy::parse_policy(text, "p.toml");
  if (!loaded) throw std::runtime_error(loaded.error().front());
  return std::move(loaded->policy);
}

const std::vector<std::uint32_t> kGids{44, 1000};

TEST(QuotaRules, WhatTheFileDoesNotSayIsBuiltIn) {
  const policy::Policy p = parse("[quota]\nexports = 1000\nbytes = \"300G\"\nsessions = 0\n");
  LimitSet expected = LimitSet::built_in();
  expected.set(Resource::kExports, 1000);
  expected.set(Resource::kBytes, 322'122'547'200);
  expected.set(Resource::kSessions, 0);
  EXPECT_EQ(*p.limits_of({"main", 1000, kGids}), expected);
}

TEST(QuotaRules, EveryResourceHasItsKey) {
  std::string text = "[quota]\n";
  LimitSet expected = LimitSet::built_in();
  for (std::size_t i = 0; i < core::kResources; ++i) {
    const auto resource = static_cast<Resource>(i);
    text += std::string(core::text_of(resource).key) + " = " + std::to_string(i + 1) + "\n";
    expected.set(resource, i + 1);
  }
  EXPECT_EQ(*parse(text).limits_of({"main", 1, {}}), expected);
}

TEST(QuotaRules, UidOverGidOverScopeOverEverybody) {
  const policy::Policy p = parse(R"([quota]
exports = 1
chunks = 1
leases = 1
waits = 1
[[quota.override]]
scope = ["job-*"]
exports = 2
chunks = 2
leases = 2
[[quota.override]]
gid = [44]
exports = 3
chunks = 3
[[quota.override]]
uid = [7]
exports = 4
)");
  const auto limits = p.limits_of({"job-1", 7, kGids});
  EXPECT_EQ(limits->of(Resource::kExports), 4u);
  EXPECT_EQ(limits->of(Resource::kChunks), 3u);
  EXPECT_EQ(limits->of(Resource::kLeases), 2u);
  EXPECT_EQ(limits->of(Resource::kWaits), 1u);
  EXPECT_EQ(limits->of(Resource::kGroups), LimitSet::built_in().of(Resource::kGroups));
  EXPECT_EQ(p.limits_of({"job-1", 8, {}})->of(Resource::kExports), 2u);
  EXPECT_EQ(p.limits_of({"main", 8, kGids})->of(Resource::kExports), 3u);
}

TEST(QuotaRules, OfOneKindTheFirstOfTheFile) {
  const policy::Policy p = parse(R"([[quota.override]]
uid = ["7-9"]
exports = 1
[[quota.override]]
uid = [7]
gid = [44]
exports = 2
chunks = 2
)");
  const auto limits = p.limits_of({"main", 7, kGids});
  EXPECT_EQ(limits->of(Resource::kExports), 1u);
  EXPECT_EQ(limits->of(Resource::kChunks), 2u);
  EXPECT_EQ(p.limits_of({"main", 7, {}})->of(Resource::kChunks), LimitSet::built_in().of(Resource::kChunks));
}

// Thousands of sessions hold one.
TEST(QuotaRules, WhoHasNoOverrideSharesOneSet) {
  const policy::Policy p = parse("[[quota.override]]\nuid = [7]\nexports = 1\n");
  EXPECT_EQ(p.limits_of({"main", 8, {}}), p.limits_of({"job", 9, kGids}));
  EXPECT_NE(p.limits_of({"main", 7, {}}), p.limits_of({"main", 8, {}}));
}

}  // namespace
}  // namespace hb::test
