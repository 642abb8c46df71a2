// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// The rules of socket_trust.h over paths that no test could make for real.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "hipbroker/status.h"
#include "socket_trust.h"

namespace hb::test {
namespace {

using client::PathVisit;
using client::TrustContext;

constexpr std::uint32_t kSelf = 1000;
constexpr std::uint32_t kOther = 2000;
constexpr std::uint32_t kThird = 3000;
constexpr std::uint32_t kOverflow = 65534;

struct Step {
  const char* path;
  std::uint32_t owner;
  std::uint32_t mode;
  bool fixed_mount_point = false;
};

std::vector<PathVisit> walk(const std::vector<Step>& steps) {
  std::vector<PathVisit> visits;
  for (const Step& step : steps) {
    PathVisit visit;
    visit.path = step.path;
    visit.owner = step.owner;
    visit.mode = step.mode | (&step == &steps.back() ? S_IFSOCK : S_IFDIR);
    visit.parent = visits.empty() ? 0 : visits.size() - 1;
    visit.same_as = visits.size();
    visit.fixed_mount_point = step.fixed_mount_point;
    visits.push_back(visit);
  }
  return visits;
}

auto judge(const std::vector<Step>& steps, TrustContext context = {kSelf, {}}) {
  return client::judge_path(walk(steps), context);
}

// Whose component the refusal names; "" when it is trusted.
std::string refused(const std::vector<Step>& steps, TrustContext context = {kSelf, {}}) {
  const auto verdict = judge(steps, context);
  if (verdict) return "";
  EXPECT_EQ(verdict.error().status, HB_UNTRUSTED);
  EXPECT_NE(verdict.error().message.find("owner uid"), std::string::npos);
  EXPECT_NE(verdict.error().message.find("mode "), std::string::npos);
  return verdict.error().what;
}

TEST(TrustRules, RootAndSelfMayPlaceAnything) {
  EXPECT_EQ(refused({{"/", 0, 0755}, {"/run", 0, 0755}, {"/run/s", 0, 0666}}), "");
  EXPECT_EQ(refused({{"/", 0, 0755}, {"/home", kSelf, 0700}, {"/home/s", kSelf, 0600}}), "");
  EXPECT_FALSE(judge({{"/", 0, 0755}, {"/run", 0, 0755}, {"/run/s", 0, 0666}})->has_value());
}

TEST(TrustRules, WhatOnlyTheyCanWriteTheyDelegate) {
  const auto verdict =
      judge({{"/", 0, 0755}, {"/run", 0, 0755}, {"/run/hb", kOther, 0755}, {"/run/hb/s", kOther, 0666}});
  ASSERT_TRUE(verdict);
  EXPECT_EQ(*verdict, kOther);
}

TEST(TrustRules, BelowADelegateAllIsTheDelegates) {
  EXPECT_EQ(refused({{"/", 0, 0755}, {"/d", kOther, 0755}, {"/d/s", kThird, 0666}}), "/d/s");
  EXPECT_EQ(refused({{"/", 0, 0755}, {"/d", kOther, 0755}, {"/d/s", 0, 0666}}), "/d/s");
  EXPECT_EQ(refused({{"/", 0, 0755}, {"/d", kOther, 0755}, {"/d/s", kSelf, 0666}}), "/d/s");
}

TEST(TrustRules, ADelegatesDirectoryIsNobodyElsesToWrite) {
  EXPECT_EQ(refused({{"/", 0, 0755}, {"/d", kOther, 0777}, {"/d/s", kOther, 0666}}), "/d");
  EXPECT_EQ(refused({{"/", 0, 0755}, {"/d", kOther, 01777}, {"/d/s", kOther, 0666}}), "/d");
  EXPECT_EQ(refused({{"/", 0, 0755}, {"/d", kOther, 0755}, {"/d/e", kOther, 0775}, {"/d/e/s", kOther, 0666}}),
            "/d/e");
}

TEST(TrustRules, InTmpOnlyRootsAndOwnCount) {
  EXPECT_EQ(refused({{"/", 0, 0755}, {"/tmp", 0, 01777}, {"/tmp/s", kSelf, 0666}}), "");
  EXPECT_EQ(refused({{"/", 0, 0755}, {"/tmp", 0, 01777}, {"/tmp/s", 0, 0666}}), "");
  EXPECT_EQ(refused({{"/", 0, 0755}, {"/tmp", 0, 01777}, {"/tmp/s", kOther, 0666}}), "/tmp/s");
  EXPECT_EQ(
      refused({{"/", 0, 0755}, {"/tmp", 0, 01777}, {"/tmp/d", kOther, 0755}, {"/tmp/d/s", kOther, 0666}}),
      "/tmp/d");
}

TEST(TrustRules, WithoutStickyBitNothingInItCounts) {
  EXPECT_EQ(refused({{"/", 0, 0755}, {"/w", 0, 0777}, {"/w/s", kSelf, 0666}}), "/w");
  EXPECT_EQ(refused({{"/", 0, 0755}, {"/g", kSelf, 0775}, {"/g/s", kSelf, 0666}}), "/g");
}

TEST(TrustRules, TheRootItselfIsRoots) {
  EXPECT_EQ(refused({{"/", kOther, 0755}, {"/s", kOther, 0666}}), "/");
}

TEST(TrustRules, TheOverflowUidIsRootOnlyAtOrAboveAFixedMountPoint) {
  const TrustContext hidden{kSelf, kOverflow};
  // A container: /run/hb is mounted from outside.
  const std::vector<Step> mounted{{"/", kSelf, 0755, true},
                                  {"/run", kSelf, 0755},
                                  {"/run/hb", kOverflow, 0755, true},
                                  {"/run/hb/s", kOverflow, 0666}};
  EXPECT_EQ(refused(mounted, hidden), "");
  EXPECT_EQ(*judge(mounted, hidden), kOverflow);
  // The same without a mapping problem: 65534 is nobody, a uid like others, and delegated to.
  EXPECT_EQ(*judge(mounted), kOverflow);
  // Above the mount point.
  EXPECT_EQ(refused({{"/", kOverflow, 0755, true},
                     {"/m", kOverflow, 01777},
                     {"/m/hb", kOverflow, 0755, true},
                     {"/m/hb/s", kOverflow, 0666}},
                    hidden),
            "");
  // In /tmp, not mounted: it may be anyone.
  EXPECT_EQ(
      refused({{"/", kOverflow, 0755, true}, {"/tmp", kOverflow, 01777, true}, {"/tmp/s", kOverflow, 0666}},
              hidden),
      "/tmp/s");
  // A mount point that the caller can write is not root's word.
  EXPECT_EQ(refused({{"/", kOverflow, 0755, true},
                     {"/tmp", kOverflow, 01777, true},
                     {"/tmp/m", kOverflow, 0777},
                     {"/tmp/m/s", kOverflow, 0666}},
                    hidden),
            "/tmp/m");
}

// A container's nobody: what strangers plant looks like its own.
TEST(TrustRules, TheOverflowUidIsNotOnesOwn) {
  TrustContext nobody{kOverflow};
  const std::vector<Step> planted{{"/", 0, 0755}, {"/tmp", 0, 01777}, {"/tmp/s", kOverflow, 0666}};
  EXPECT_EQ(refused(planted, nobody), "");  // where every uid has its number
  nobody.nobody_in_particular = kOverflow;
  EXPECT_EQ(refused(planted, nobody), "/tmp/s");
  nobody.hidden_root = kOverflow;
  EXPECT_EQ(
      refused({{"/", kOverflow, 0755, true}, {"/tmp", kOverflow, 01777, true}, {"/tmp/s", kOverflow, 0666}},
              nobody),
      "/tmp/s");
  // Delegated it still is: whoever placed the directory chose its owner.
  EXPECT_EQ(refused({{"/", 0, 0755}, {"/hb", kOverflow, 0755}, {"/hb/s", kOverflow, 0666}}, nobody), "");
}

}  // namespace
}  // namespace hb::test
