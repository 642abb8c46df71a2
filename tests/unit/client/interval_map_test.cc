// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "interval_map.h"

#include <gtest/gtest.h>

namespace hb::test {
namespace {

using client::Interval;
using client::IntervalMap;
using client::Origin;

const void* at(std::uintptr_t address) { return reinterpret_cast<const void*>(address); }

TEST(AnIntervalMap, FindsTheRangeThatHoldsAByte) {
  IntervalMap map;
  map.add({0x1000, 0x1000, Origin::kAllocated, {}, {}});
  map.add({0x2000, 0x10, Origin::kImported, {}, {}});
  EXPECT_FALSE(map.find(at(0xfff)));
  EXPECT_EQ(map.find(at(0x1000))->origin, Origin::kAllocated);
  EXPECT_EQ(map.find(at(0x1fff))->origin, Origin::kAllocated);
  EXPECT_EQ(map.find(at(0x2000))->origin, Origin::kImported);
  EXPECT_FALSE(map.find(at(0x2010)));
  map.remove(at(0x1000));
  EXPECT_FALSE(map.find(at(0x1fff)));
}

TEST(AnIntervalMap, FindsTheFirstThatTouchesARange) {
  IntervalMap map;
  map.add({0x1000, 0x1000, Origin::kAllocated, {}, {}});
  map.add({0x4000, 0x1000, Origin::kImported, {}, {}});
  EXPECT_FALSE(map.find_in(at(0x2000), 0x2000));
  EXPECT_EQ(map.find_in(at(0x2000), 0x2001)->start, 0x4000u);
  EXPECT_EQ(map.find_in(at(0x1800), 0x4000)->start, 0x1000u);
  EXPECT_EQ(map.find_in(at(0), UINT64_MAX)->start, 0x1000u);
  EXPECT_FALSE(map.find_in(at(0x5000), UINT64_MAX));
}

// Addresses that sleeping memory had to give up are another's for a while.
TEST(AnIntervalMap, LosesOnlyWhatTheRemoverAdded) {
  IntervalMap map;
  const auto sleeper = map.add({0x1000, 0x1000, Origin::kAllocated, {}, {}});
  const auto guest = map.add({0x1000, 0x1000, Origin::kImported, {}, {}});
  map.remove(at(0x1000), sleeper);
  ASSERT_TRUE(map.find(at(0x1000)));
  EXPECT_EQ(map.find(at(0x1000))->origin, Origin::kImported);
  map.remove(at(0x1000), guest);
  EXPECT_FALSE(map.find(at(0x1000)));
  map.remove(at(0x1000), guest);
}

TEST(AnIntervalMap, HoldsTheEndOfTheAddressSpace) {
  IntervalMap map;
  map.add({UINTPTR_MAX - 0xfff, 0x1000, Origin::kAllocated, {}, {}});
  EXPECT_TRUE(map.find(at(UINTPTR_MAX)));
  EXPECT_FALSE(map.find(at(0)));
}

}  // namespace
}  // namespace hb::test
