// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "providers/hip/quirks.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace hb::test {
namespace {

namespace hc = hb::client::hip;
using hc::Quirk;

TEST(HipQuirks, EveryOneHasOneRowWithItsSource) {
  std::set<Quirk> seen;
  std::set<std::string> names;
  for (const hc::QuirkRow& row : hc::quirk_rows()) {
    EXPECT_TRUE(seen.insert(row.quirk).second) << row.name;
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
    EXPECT_GT(std::string(row.source).size(), 20u) << row.name;
    EXPECT_TRUE(row.until == 0 || row.from < row.until) << row.name;
  }
  EXPECT_EQ(seen.size(), static_cast<std::size_t>(Quirk::kCount));
}

TEST(HipQuirks, TheFormOfTheDescriptorChangesExactlyAt71) {
  EXPECT_TRUE(hc::Quirks(60'200'000).on(Quirk::kDescriptorByPointer));
  EXPECT_TRUE(hc::Quirks(70'051'831).on(Quirk::kDescriptorByPointer));
  EXPECT_TRUE(hc::Quirks(70'099'999).on(Quirk::kDescriptorByPointer));
  EXPECT_FALSE(hc::Quirks(70'100'000).on(Quirk::kDescriptorByPointer));
  EXPECT_FALSE(hc::Quirks(80'000'000).on(Quirk::kDescriptorByPointer));  // unknown newer: the value
}

TEST(HipQuirks, Rocm10IsRuntime715) {
  const hc::Quirks ten(71'500'000);
  EXPECT_TRUE(ten.on(Quirk::kGrantsHost));
  EXPECT_FALSE(ten.on(Quirk::kGrantsHostOnImport));
  EXPECT_TRUE(ten.on(Quirk::kKnowsHostNuma));
  EXPECT_FALSE(ten.on(Quirk::kDescriptorPerCreate));
}

TEST(HipQuirks, WhatIsTooOldIsKnownWithoutTrying) {
  for (const int version : {50'221'153, 60'032'830, 60'140'091})
    ASSERT_NE(hc::known_bad(version), nullptr) << version;
  EXPECT_NE(std::string(hc::known_bad(50'221'153)->reason).find("6.2 or newer"), std::string::npos);
  EXPECT_EQ(hc::known_bad(60'200'000), nullptr);
  EXPECT_EQ(hc::known_bad(71'600'000), nullptr);
}

TEST(HipQuirks, WhatWasSeenWins) {
  hc::Quirks quirks(70'200'000);
  EXPECT_TRUE(quirks.on(Quirk::kTailGrantIsInvalid));
  EXPECT_FALSE(quirks.was_overruled(Quirk::kTailGrantIsInvalid));
  quirks.overrule(Quirk::kTailGrantIsInvalid, false);
  EXPECT_FALSE(quirks.on(Quirk::kTailGrantIsInvalid));
  EXPECT_TRUE(quirks.was_overruled(Quirk::kTailGrantIsInvalid));
}

}  // namespace
}  // namespace hb::test
