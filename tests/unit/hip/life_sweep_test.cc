// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Growth, replacement, sleep and waking while every driver call fails once, in turn.
#include "unit/hip/life.h"
#include "unit/hip/sweep.h"

namespace hb::test {
namespace {

using client::HostAccess;
using EveryVersionLifeSweep = EveryVersion;
HB_EVERY_VERSION(EveryVersionLifeSweep);

TEST_P(EveryVersionLifeSweep, Growth) {
  expect_clean(env(), [](const Hip& hip) {
    const auto context = context_of();
    hc::AllocateSpec spec;
    spec.bytes = spec.chunk_bytes = kChunk;
    spec.reserve_bytes = 4 * kChunk;
    spec.access = *hc::access_for(*context, 1, {}, HostAccess::kPrefer);
    auto own = hc::allocate(context, spec);
    ASSERT_TRUE(own) << text_of(own);
    write_mark(hip, (*own)->base(), 'a');
    sweep(
        hip,
        [&]() -> Outcome {
          const std::uint64_t two[] = {kChunk, kChunk};
          const auto grown = hc::extend(context, **own, two);
          EXPECT_EQ((*own)->mapped_bytes(), (grown ? 3 : 1) * kChunk);
          (*own)->cut(1);
          return grown ? Outcome{} : of(grown.error());
        },
        true);
    EXPECT_EQ(read_mark(hip, (*own)->base()), 'a');
  });
}

TEST_P(EveryVersionLifeSweep, GrowthOfAnImport) {
  expect_clean(env(assumed({})), [](const Hip& hip) {
    const auto memory = own_memory(3, 3);
    Importer importer(*memory, 3, HostAccess::kPrefer);
    ASSERT_TRUE(importer.range().map(importer.part(*memory, 0, 0)));
    const auto second = importer.part(*memory, 1, 1);
    const auto third = importer.part(*memory, 2, 2);
    write_mark(hip, memory->ptr(), 'a');
    sweep(
        hip,
        [&]() -> Outcome {
          auto mapped = importer.range().map(second);
          if (mapped) mapped = importer.range().map(third);
          importer.range().cut(kChunk);
          return mapped ? Outcome{} : of(mapped.error());
        },
        true);
    EXPECT_EQ(read_mark(hip, importer.at(0)), 'a');
  });
}

TEST_P(EveryVersionLifeSweep, Replacement) {
  expect_clean(env(assumed({})), [](const Hip& hip) {
    const auto memory = own_memory(3, 3);
    const auto other = own_memory(1, 1);
    Importer importer(*memory, 3, HostAccess::kPrefer);
    ASSERT_TRUE(importer.map(*memory));
    const client::ImportedRange::Part parts[] = {importer.part(*memory, 1, 1), importer.part(*other, 0, 1)};
    write_mark(hip, static_cast<char*>(memory->ptr()) + kChunk, 'b');
    write_mark(hip, other->ptr(), 'x');
    const bool host = importer.range().host_granted();
    int now = 0;
    sweep(
        hip,
        [&]() -> Outcome {
          const auto replaced = importer.range().replace(parts[1 - now]);
          if (replaced) now = 1 - now;
          importer.range().keep_replaced();
          EXPECT_EQ(importer.range().host_granted(), host);
          return replaced ? Outcome{} : of(replaced.error());
        },
        true);
    EXPECT_EQ(read_mark(hip, importer.at(1)), now == 0 ? 'b' : 'x');
  });
}

TEST_P(EveryVersionLifeSweep, WhatIsThereAfterAFailedReplacementIsTheOld) {
  expect_clean(env(assumed({})), [](const Hip& hip) {
    const auto memory = own_memory(2, 2);
    const auto other = own_memory(1, 1);
    Importer importer(*memory, 2, HostAccess::kPrefer);
    ASSERT_TRUE(importer.map(*memory));
    const auto fresh = importer.part(*other, 0, 1);
    const auto old = importer.part(*memory, 1, 1);
    write_mark(hip, static_cast<char*>(memory->ptr()) + kChunk, 'b');
    write_mark(hip, other->ptr(), 'x');
    int failures = 0;
    for (int k = 1;; ++k) {
      ASSERT_EQ(hip.fake_hip_control(("fail=any:" + std::to_string(k)).c_str()), 0);
      const auto replaced = importer.range().replace(fresh);
      const bool over = hip.fake_hip_count("calls") < k;
      ASSERT_EQ(hip.fake_hip_control("fail="), 0);
      failures += replaced ? 0 : 1;
      ASSERT_EQ(read_mark(hip, importer.at(1)), replaced ? 'x' : 'b') << "call " << k;
      ASSERT_EQ(cpu_reads(importer.at(1)), importer.range().host_granted()) << "call " << k;
      ASSERT_TRUE(importer.range().replace(old));
      if (over) break;
    }
    EXPECT_GT(failures, 5);
  });
}

TEST_P(EveryVersionLifeSweep, SleepAndWaking) {
  expect_clean(env(assumed({})), [](const Hip& hip) {
    const auto memory = own_memory(2, 3, HostAccess::kPrefer);
    void* const base = memory->ptr();
    sweep(
        hip,
        [&]() -> Outcome {
          memory->sleep();
          EXPECT_EQ(hip.fake_hip_device_bytes(0), 0u);
          const auto awake = memory->wake();
          EXPECT_EQ(memory->asleep(), !awake.has_value());
          EXPECT_EQ(hip.fake_hip_device_bytes(0), awake ? 2 * kChunk : 0u);
          if (awake) return {};
          EXPECT_TRUE(memory->wake());
          return of(awake.error());
        },
        true);
    EXPECT_EQ(memory->ptr(), base);
    write_mark(hip, base, 'a');
    EXPECT_EQ(read_mark(hip, base), 'a');
  });
}

TEST_P(EveryVersionLifeSweep, SleepAndWakingOfAnImport) {
  expect_clean(env(assumed({})), [](const Hip& hip) {
    const auto memory = own_memory(2, 3);
    Importer importer(*memory, 3, HostAccess::kPrefer);
    ASSERT_TRUE(importer.map(*memory));
    const void* const base = importer.range().ptr();
    const client::ImportedRange::Part parts[] = {importer.part(*memory, 0, 0), importer.part(*memory, 1, 1)};
    client::ImportedRange& range = importer.range();
    const auto rise = [&]() -> client::Result<void> {
      auto done = range.wake();
      for (const auto& part : parts)
        if (done) done = range.map(part);
      return done;
    };
    sweep(
        hip,
        [&]() -> Outcome {
          range.sleep();
          const auto awake = rise();
          EXPECT_EQ(range.ptr(), base);
          if (awake) return {};
          range.sleep();
          EXPECT_TRUE(rise());
          return of(awake.error());
        },
        true);
    write_mark(hip, memory->ptr(), 'a');
    EXPECT_EQ(read_mark(hip, importer.at(0)), 'a');
  });
}

}  // namespace
}  // namespace hb::test
