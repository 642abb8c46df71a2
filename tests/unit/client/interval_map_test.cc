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
  map.add({0x1000, 0x1000, Origin::kAllocated, {}});
  map.add({0x2000, 0x10, Origin::kImported, {}});
  EXPECT_FALSE(map.find(at(0xfff)));
  EXPECT_EQ(map.find(at(0x1000))->origin, Origin::kAllocated);
  EXPECT_EQ(map.find(at(0x1fff))->origin, Origin::kAllocated);
  EXPECT_EQ(map.find(at(0x2000))->origin, Origin::kImported);
  EXPECT_FALSE(map.find(at(0x2010)));
  map.remove(at(0x1000));
  EXPECT_FALSE(map.find(at(0x1fff)));
}

TEST(AnIntervalMap, HoldsTheEndOfTheAddressSpace) {
  IntervalMap map;
  map.add({UINTPTR_MAX - 0xfff, 0x1000, Origin::kAllocated, {}});
  EXPECT_TRUE(map.find(at(UINTPTR_MAX)));
  EXPECT_FALSE(map.find(at(0)));
}

}  // namespace
}  // namespace hb::test
