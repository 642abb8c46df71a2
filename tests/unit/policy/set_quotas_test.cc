// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "policy/set_quotas.h"

#include <gtest/gtest.h>

namespace hb::test {
namespace {

using core::LimitSet;
using core::Resource;
using policy::SetQuota;
using policy::SetQuotas;

policy::Amounts amounts(std::initializer_list<std::pair<Resource, std::uint64_t>> list) {
  policy::Amounts out;
  for (const auto& [resource, most] : list) out.of(resource) = most;
  return out;
}

TEST(SetQuotas, UidOverGidOverTheScopesOwn) {
  const SetQuotas set(
      {{"job", {}, {}, amounts({{Resource::kExports, 1}, {Resource::kChunks, 1}, {Resource::kLeases, 1}})},
       {"job", {}, 44, amounts({{Resource::kExports, 2}, {Resource::kChunks, 2}})},
       {"job", {}, 1000, amounts({{Resource::kChunks, 5}, {Resource::kWaits, 5}})},
       {"job", 7, {}, amounts({{Resource::kExports, 3}})}});
  const std::vector<std::uint32_t> gids{44, 1000};
  LimitSet limits = LimitSet::built_in();
  set.fill_into(limits, {"job", 7, gids});
  LimitSet expected = LimitSet::built_in();
  expected.set(Resource::kExports, 3);
  expected.set(Resource::kChunks, 2);
  expected.set(Resource::kWaits, 5);
  expected.set(Resource::kLeases, 1);
  EXPECT_EQ(limits, expected);
}

TEST(SetQuotas, OfAnotherScopeOrUidNothingHolds) {
  const SetQuotas set({{"main", 7, {}, amounts({{Resource::kExports, 3}})}});
  EXPECT_TRUE(set.concerns({"main", 7, {}}));
  const std::vector<std::uint32_t> gids{7};
  for (const policy::Who& who : {policy::Who{"job", 7, gids}, policy::Who{"main", 8, gids}}) {
    LimitSet limits = LimitSet::built_in();
    set.fill_into(limits, who);
    EXPECT_EQ(limits, LimitSet::built_in());
    EXPECT_FALSE(set.concerns(who));
  }
  EXPECT_FALSE(SetQuotas().concerns({"main", 7, {}}));
}

}  // namespace
}  // namespace hb::test
