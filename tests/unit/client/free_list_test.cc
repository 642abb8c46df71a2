// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Against a model that marks every granule.
#include "free_list.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <vector>

namespace hb::test {
namespace {

using client::FreeList;
using Fault = FreeList::Fault;

constexpr std::uint64_t kGranule = 16;
constexpr std::uint64_t kGranules = 96;
constexpr std::uintptr_t kOrigin = 3 * kGranule;  // aligned to nothing larger

struct Model {
  std::vector<bool> taken = std::vector<bool>(kGranules);
  std::map<std::uint64_t, std::uint64_t> allocations;

  [[nodiscard]] std::vector<FreeList::Range> free_ranges() const {
    std::vector<FreeList::Range> out;
    for (std::uint64_t i = 0; i < kGranules; ++i) {
      if (taken[i]) continue;
      if (i == 0 || taken[i - 1]) out.push_back({i * kGranule, 0});
      out.back().bytes += kGranule;
    }
    return out;
  }
  void mark(std::uint64_t offset, std::uint64_t bytes, bool value) {
    for (std::uint64_t i = offset / kGranule; i < (offset + bytes) / kGranule; ++i) taken[i] = value;
  }
};

bool holds(const FreeList::Range& range, std::uint64_t bytes, std::uint64_t alignment) {
  const std::uint64_t start = (kOrigin + range.offset + alignment - 1) / alignment * alignment - kOrigin;
  return start + bytes <= range.offset + range.bytes;
}

void check_allocate(FreeList& list, Model& model, std::uint64_t bytes, std::uint64_t alignment) {
  const auto ranges = model.free_ranges();
  const auto got = list.allocate(bytes, alignment);
  const std::uint64_t size = (bytes + kGranule - 1) / kGranule * kGranule;
  const bool fits = std::any_of(ranges.begin(), ranges.end(), [&](const auto& range) {
    return holds(range, size, std::max(alignment, kGranule));
  });
  RC_ASSERT(got.has_value() == fits);
  if (!got) return;
  RC_ASSERT(got->bytes == size);
  RC_ASSERT((kOrigin + got->offset) % alignment == 0);
  for (std::uint64_t i = got->offset / kGranule; i < (got->offset + size) / kGranule; ++i)
    RC_ASSERT(!model.taken.at(i));
  if (alignment <= kGranule) {  // the smallest range that holds it, and of those the lowest
    const FreeList::Range* best = nullptr;
    for (const auto& range : ranges)
      if (range.bytes >= size && (best == nullptr || range.bytes < best->bytes)) best = &range;
    RC_ASSERT(got->offset == best->offset);
  }
  model.mark(got->offset, size, true);
  model.allocations[got->offset] = size;
}

void check_free(FreeList& list, Model& model, std::uint64_t offset) {
  const auto freed = list.free(offset);
  const auto known = model.allocations.find(offset);
  RC_ASSERT(freed.has_value() == (known != model.allocations.end()));
  if (!freed) {
    const bool outside = offset >= kGranules * kGranule;
    RC_ASSERT(freed.error() == (outside                             ? Fault::kOutside
                                : model.taken.at(offset / kGranule) ? Fault::kInside
                                                                    : Fault::kFree));
    return;
  }
  model.mark(offset, known->second, false);
  model.allocations.erase(known);
  const auto ranges = model.free_ranges();
  RC_ASSERT(std::find(ranges.begin(), ranges.end(), *freed) != ranges.end());
}

void check_take(FreeList& list, Model& model, const FreeList::Range& range) {
  bool free = true;
  for (std::uint64_t i = range.offset / kGranule; i < (range.offset + range.bytes) / kGranule; ++i)
    free = free && i < kGranules && !model.taken[i];
  RC_ASSERT(list.take(range) == free);
  if (!free) return;
  model.mark(range.offset, range.bytes, true);
  model.allocations[range.offset] = range.bytes;
}

TEST(AFreeList, DoesWhatAModelDoes) {
  ::setenv("RC_PARAMS", "max_success=400 max_size=200", 0);
  EXPECT_TRUE(rc::check([] {
    FreeList list(kGranules * kGranule, kGranule, kOrigin);
    Model model;
    const auto steps = *rc::gen::container<std::vector<std::vector<std::uint64_t>>>(
        rc::gen::container<std::vector<std::uint64_t>>(3, rc::gen::inRange<std::uint64_t>(0, 1u << 16)));
    for (const auto& step : steps) {
      switch (step[0] % 8) {
        case 0:
        case 1:
        case 2:
        case 3:
          check_allocate(list, model, 1 + step[1] % (12 * kGranule), std::uint64_t{1} << step[2] % 9);
          break;
        case 4:
        case 5: {  // what was allocated
          if (model.allocations.empty()) break;
          auto at = model.allocations.begin();
          std::advance(at, step[1] % model.allocations.size());
          check_free(list, model, at->first);
          break;
        }
        case 6:  // anything
          check_free(list, model, step[1] % (kGranules + 4) * kGranule + (step[2] % 4 == 0 ? 1 : 0));
          break;
        default:
          check_take(list, model, {step[1] % kGranules * kGranule, (1 + step[2] % 6) * kGranule});
      }
      const auto ranges = model.free_ranges();
      std::uint64_t largest = 0;
      std::uint64_t free = 0;
      for (const auto& range : ranges) {
        largest = std::max(largest, range.bytes);
        free += range.bytes;
      }
      RC_ASSERT(list.largest() == largest);
      RC_ASSERT(list.ranges() == ranges.size());
      RC_ASSERT(list.used() == list.bytes() - free);
    }
  }));
}

TEST(AFreeList, MergesWithBothNeighbours) {
  FreeList list(4 * kGranule, kGranule);
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(list.allocate(kGranule, 1));
  EXPECT_FALSE(list.allocate(1, 1));
  EXPECT_EQ(*list.free(0), (FreeList::Range{0, kGranule}));
  EXPECT_EQ(*list.free(2 * kGranule), (FreeList::Range{2 * kGranule, kGranule}));
  EXPECT_EQ(list.ranges(), 2u);
  EXPECT_EQ(*list.free(kGranule), (FreeList::Range{0, 3 * kGranule}));
  EXPECT_EQ(list.free(kGranule).error(), Fault::kFree);
  EXPECT_EQ(*list.free(3 * kGranule), (FreeList::Range{0, 4 * kGranule}));
  EXPECT_EQ(list.used(), 0u);
}

TEST(AFreeList, HoldsSizesAndAlignmentsNearTheLimitsOfTheType) {
  FreeList list(4 * kGranule, kGranule);
  EXPECT_FALSE(list.allocate(UINT64_MAX, 1));
  EXPECT_FALSE(list.allocate(0, 1));
  EXPECT_TRUE(list.allocate(1, std::uint64_t{1} << 63));  // offset 0
  EXPECT_FALSE(list.allocate(1, std::uint64_t{1} << 63));
  EXPECT_FALSE(list.take({UINT64_MAX, kGranule}));
  EXPECT_FALSE(list.take({kGranule, UINT64_MAX}));
  EXPECT_EQ(list.free(UINT64_MAX).error(), Fault::kOutside);
}

}  // namespace
}  // namespace hb::test
