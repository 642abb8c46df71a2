// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "policy/policy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "policy/policy_toml.h"

namespace hb::test {
namespace {

using core::Rights;
using core::Verb;
using policy::Who;

policy::Policy parse(const std::string& text) {
  auto loaded = policy::parse_policy(text, "p.toml");
  if (!loaded) throw std::runtime_error(loaded.error().front());
  return std::move(loaded->policy);
}

const std::vector<std::uint32_t> kGids{44, 1000};
Who of_uid(std::uint32_t uid, std::string_view scope = "main") { return {scope, uid, kGids}; }

TEST(Policy, WithoutAFileEverybodyMayWhatIsUsual) {
  const policy::Policy built_in = policy::Policy::built_in();
  for (const std::uint32_t uid : {0u, 1000u, policy::kMostId}) {
    EXPECT_EQ(built_in.rights_of(of_uid(uid)), Rights::usual());
    EXPECT_EQ(*built_in.limits_of(of_uid(uid)), core::LimitSet::built_in());
  }
  const auto allowed = built_in.verdict(of_uid(1000), Verb::kExport);
  EXPECT_EQ(built_in.reason(allowed), "built-in policy: allow export, acquire, list, revoke for everybody");
  const auto refused = built_in.verdict(of_uid(1000), Verb::kPersist);
  EXPECT_FALSE(refused.allowed);
  EXPECT_EQ(built_in.reason(refused), "no rule of the built-in policy allows it");
}

TEST(Policy, WithoutARuleEverythingIsDenied) {
  const policy::Policy none = parse("");
  EXPECT_EQ(none.rights_of(of_uid(0)), Rights::none());
  EXPECT_EQ(none.reason(none.verdict(of_uid(0), Verb::kList)), "no rule of p.toml fits");
}

TEST(Policy, TheFirstRuleOfAVerbThatFitsDecides) {
  const policy::Policy p = parse(R"([[rule]]
deny = ["export"]
uid = [1001]
[[rule]]
allow = ["export", "acquire"]
uid = ["1000-1999"]
[[rule]]
deny = "all"
[[rule]]
allow = ["list"]
)");
  const auto denied = p.verdict(of_uid(1001), Verb::kExport);
  EXPECT_FALSE(denied.allowed);
  ASSERT_NE(denied.rule, nullptr);
  EXPECT_EQ(denied.rule->line, 1u);
  EXPECT_EQ(p.reason(denied), "p.toml:1: deny export for uid 1001");
  // A rule about other verbs is passed over.
  const auto allowed = p.verdict(of_uid(1001), Verb::kAcquire);
  EXPECT_TRUE(allowed.allowed);
  EXPECT_EQ(p.reason(allowed), "p.toml:4: allow export, acquire for uid 1000-1999");
  EXPECT_TRUE(p.verdict(of_uid(1000), Verb::kExport).allowed);
  EXPECT_TRUE(p.verdict(of_uid(1999), Verb::kExport).allowed);
  EXPECT_FALSE(p.verdict(of_uid(999), Verb::kExport).allowed);
  EXPECT_FALSE(p.verdict(of_uid(2000), Verb::kExport).allowed);
  EXPECT_FALSE(p.verdict(of_uid(1000), Verb::kList).allowed);
  EXPECT_EQ(p.rights_of(of_uid(1001)), Rights::none().with(Verb::kAcquire));
}

TEST(Policy, AGidIsOneOfAllThatAPeerHas) {
  const policy::Policy p = parse("[[rule]]\nallow = \"all\"\ngid = [44]\n");
  EXPECT_TRUE(p.verdict(of_uid(7), Verb::kPersist).allowed);
  const std::vector<std::uint32_t> others{43, 45, 1000};
  EXPECT_FALSE(p.verdict({"main", 7, others}, Verb::kPersist).allowed);
  EXPECT_FALSE(p.verdict({"main", 44, {}}, Verb::kPersist).allowed) << "a uid is no gid";
}

TEST(Policy, AScopeFitsWholeOrByItsBeginning) {
  const policy::Policy p = parse("[[rule]]\nallow = [\"list\"]\nscope = [\"main\", \"job-*\"]\n");
  for (const char* scope : {"main", "job-", "job-7"})
    EXPECT_TRUE(p.verdict(of_uid(1, scope), Verb::kList).allowed) << scope;
  for (const char* scope : {"mai", "main2", "job", "xjob-7", ""})
    EXPECT_FALSE(p.verdict(of_uid(1, scope), Verb::kList).allowed) << scope;
  const policy::Policy every = parse("[[rule]]\nallow = [\"list\"]\nscope = [\"*\"]\n");
  EXPECT_TRUE(every.verdict(of_uid(1, "x"), Verb::kList).allowed);
}

// What a rule says must fit all together, one of each kind.
TEST(Policy, UidGidAndScopeMustAllFit) {
  const policy::Policy p =
      parse("[[rule]]\nallow = [\"list\"]\nuid = [7, 8]\ngid = [1, 44]\nscope = [\"a\", \"b\"]\n");
  EXPECT_TRUE(p.verdict(of_uid(8, "b"), Verb::kList).allowed);
  EXPECT_FALSE(p.verdict(of_uid(9, "b"), Verb::kList).allowed);
  EXPECT_FALSE(p.verdict(of_uid(8, "c"), Verb::kList).allowed);
  EXPECT_FALSE(p.verdict({"a", 8, {}}, Verb::kList).allowed);
  EXPECT_EQ(p.reason(p.verdict(of_uid(8, "b"), Verb::kList)),
            "p.toml:1: allow list for uid 7, 8 of gid 1, 44 in scope a, b");
}

// A uid that its rule does not name fits nothing by accident: the last id is one below (uid_t)-1.
TEST(Policy, TheEndsOfARangeBelongToIt) {
  const policy::Policy p =
      parse("[[rule]]\nallow = [\"list\"]\nuid = [\"10-20\", \"4294967294-4294967294\"]\n");
  EXPECT_FALSE(p.verdict(of_uid(9), Verb::kList).allowed);
  EXPECT_TRUE(p.verdict(of_uid(10), Verb::kList).allowed);
  EXPECT_TRUE(p.verdict(of_uid(20), Verb::kList).allowed);
  EXPECT_FALSE(p.verdict(of_uid(21), Verb::kList).allowed);
  EXPECT_TRUE(p.verdict(of_uid(policy::kMostId), Verb::kList).allowed);
  EXPECT_FALSE(p.verdict(of_uid(UINT32_MAX), Verb::kList).allowed);
}

}  // namespace
}  // namespace hb::test
