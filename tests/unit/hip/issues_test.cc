// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// What a person is told of a runtime version and a kernel.
#include "providers/hip/issues.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

namespace hb::test {
namespace {

namespace hc = hb::client::hip;
using hc::Issue;
using hc::Weight;

constexpr const char* kNewKernel = "6.14.0-37-generic";

std::vector<Issue> known(int version, const char* kernel = kNewKernel, const char* amdgpu = "in-tree") {
  return hc::issues_of(version, {}, kernel, amdgpu);
}

const Issue* find(const std::vector<Issue>& issues, const std::string& name) {
  const auto at =
      std::find_if(issues.begin(), issues.end(), [&name](const Issue& issue) { return issue.name == name; });
  return at == issues.end() ? nullptr : &*at;
}

TEST(HipIssues, EveryOneSaysWhatToDoUnderANameOfItsOwn) {
  for (const int version : {60'200'000, 60'400'000, 70'100'000, 70'200'000, 71'400'000, 71'500'000}) {
    std::set<std::string> names;
    for (const Issue& issue : known(version, "5.4.0", "6.16.6")) {
      EXPECT_TRUE(names.insert(issue.name).second) << issue.name;
      EXPECT_GT(std::string(issue.text).size(), 20u) << issue.name;
      EXPECT_GT(std::string(issue.advice).size(), 20u) << issue.name;
      EXPECT_TRUE(issue.tabled) << issue.name;
      EXPECT_FALSE(issue.seen) << issue.name;
    }
    EXPECT_FALSE(names.empty()) << version;
  }
}

TEST(HipIssues, FollowTheVersion) {
  ASSERT_NE(find(known(60'443'483), "release_may_keep_memory"), nullptr);
  EXPECT_EQ(find(known(60'443'483), "release_may_keep_memory")->weight, Weight::kTrouble);
  EXPECT_EQ(find(known(60'300'000), "release_may_keep_memory"), nullptr);
  EXPECT_NE(find(known(70'100'000), "no_host_grant"), nullptr);
  EXPECT_EQ(find(known(70'200'000), "no_host_grant"), nullptr);
  EXPECT_EQ(find(known(71'400'000), "no_host_grant_on_import"), nullptr);
  EXPECT_NE(find(known(71'500'000), "no_host_grant_on_import"), nullptr);
  EXPECT_NE(find(known(71'400'000), "import_query_crashes"), nullptr);
  EXPECT_EQ(find(known(71'600'000), "import_query_crashes"), nullptr);
}

TEST(HipIssues, WhatTheProbeSawOverrulesTheTable) {
  hc::Findings fine;
  fine.of(hc::Ability::kQuerySafe).answer = hc::Answer::kYes;
  fine.facts[hc::Quirk::kDescriptorPerCreate] = false;
  hc::Findings bad;
  bad.of(hc::Ability::kQuerySafe) = {hc::Answer::kNo, "died"};

  const std::vector<hc::Findings> one{fine};
  const auto mended = hc::issues_of(71'400'000, one, kNewKernel, "");
  EXPECT_EQ(find(mended, "import_query_crashes"), nullptr);
  EXPECT_EQ(find(mended, "descriptor_per_create"), nullptr);

  // One GPU that has it is enough; seen, and not expected of this version.
  const std::vector<hc::Findings> two{fine, bad};
  const auto mixed = hc::issues_of(70'200'000, two, kNewKernel, "");
  ASSERT_NE(find(mixed, "import_query_crashes"), nullptr);
  EXPECT_TRUE(find(mixed, "import_query_crashes")->seen);
  EXPECT_FALSE(find(mixed, "import_query_crashes")->tabled);
}

TEST(HipIssues, KernelsByReleaseAndDriver) {
  EXPECT_NE(find(known(70'200'000, "5.4.0-150-generic"), "kernel_too_old"), nullptr);
  EXPECT_EQ(find(known(70'200'000, "5.6.0"), "kernel_too_old"), nullptr);
  EXPECT_NE(find(known(70'200'000, "6.7.12"), "kernel_before_6_8"), nullptr);
  EXPECT_EQ(find(known(70'200'000, "6.8.0-45-generic"), "kernel_before_6_8"), nullptr);
  EXPECT_EQ(find(known(70'200'000, "6.18"), "kernel_before_6_8"), nullptr);
  EXPECT_EQ(find(known(70'200'000, "strange"), "kernel_before_6_8"), nullptr);
  EXPECT_NE(find(known(70'125'424, kNewKernel, "6.16.6"), "amdgpu_keeps_dma_bufs"), nullptr);
  EXPECT_EQ(find(known(70'125'424, kNewKernel, "in-tree"), "amdgpu_keeps_dma_bufs"), nullptr);
  EXPECT_EQ(find(known(70'200'000, kNewKernel, "6.16.6"), "amdgpu_keeps_dma_bufs"), nullptr);
  // Without a runtime the kernel alone is judged.
  EXPECT_EQ(known(0, "6.1.0-44-amd64").size(), 1u);
}

}  // namespace
}  // namespace hb::test
