// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Every driver call fails once, in turn: nothing may be left over, and the error says where.
#include <gtest/gtest.h>

#include "hipbroker/hipbroker.h"
#include "unit/hip/sweep.h"

namespace hb::test {
namespace {

using EveryVersionSweep = EveryVersion;
HB_EVERY_VERSION(EveryVersionSweep);

// Under a sanitizer the long ones take minutes: it is shown each eleventh of their calls.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr long long kStepOfMany = 11;
#else
constexpr long long kStepOfMany = 1;
#endif

// Allocate, export all, import all, give everything back.
Outcome whole_cycle(const hc::ContextPtr& context, std::size_t chunks, hc::HostAccess host) {
  auto access = hc::access_for(*context, 1, {}, host);
  if (!access) return of(access.error());
  hc::AllocateSpec spec;
  spec.bytes = chunks * kChunk;
  spec.chunk_bytes = kChunk;
  spec.access = *access;
  auto own = hc::allocate(context, spec);
  if (!own) return of(own.error());
  auto exported = export_all(*context, **own);
  if (!exported) return of(exported.error());
  const hc::DeviceId id = context->devices.at(1)->id;
  auto import_access = hc::access_for_import(*context, id, {}, host);
  if (!import_access) return of(import_access.error());
  auto import = hc::Import::begin(context, spec_for(*exported, *import_access, id));
  if (!import) return of(import.error());
  if (const auto added = import->add(*exported); !added) return of(added.error());
  return {};
}

TEST_P(EveryVersionSweep, OneChunk) {
  expect_clean(env(), [](const Hip& hip) {
    const auto context = context_of();
    sweep(
        hip, [&] { return whole_cycle(context, 1, hc::HostAccess::kPrefer); }, true);
  });
}

TEST_P(EveryVersionSweep, ThreeChunks) {
  expect_clean(env(), [](const Hip& hip) {
    const auto context = context_of();
    sweep(
        hip, [&] { return whole_cycle(context, 3, hc::HostAccess::kPrefer); }, true);
  });
}

// On the version that keeps most descriptors. Export and import apart, over memory made once: every call is
// tried against everything that came before it.
TEST(HipSweep, ManyChunksInOne) {
  expect_clean({{"FAKE_HIP_VERSION", "7.14"}}, [](const Hip& hip) {
    const auto context = context_of();
    constexpr std::size_t kMany = 254;
    hc::AllocateSpec spec;
    spec.bytes = kMany * kChunk;
    spec.chunk_bytes = kChunk;
    spec.access = *hc::access_for(*context, 1, {}, hc::HostAccess::kNone);
    auto own = hc::allocate(context, spec);
    ASSERT_TRUE(own) << text_of(own);
    sweep(
        hip,
        [&] {
          const auto exported = export_all(*context, **own);
          return exported ? Outcome{} : of(exported.error());
        },
        true, kStepOfMany);
    auto exported = export_all(*context, **own);
    ASSERT_TRUE(exported) << text_of(exported);
    const hc::DeviceId id = context->devices.at(1)->id;
    const auto access = hc::access_for_import(*context, id, {}, hc::HostAccess::kNone);
    ASSERT_TRUE(access) << text_of(access);
    sweep(
        hip,
        [&]() -> Outcome {
          std::vector<hc::ImportChunk> chunks;
          for (const hc::ImportChunk& chunk : *exported)
            chunks.push_back({chunk.descriptor.duplicate(), chunk.bytes, chunk.handle_kind, chunk.number});
          auto import = hc::Import::begin(context, spec_for(chunks, *access, id));
          if (!import) return of(import.error());
          if (const auto added = import->add(chunks); !added) return of(added.error());
          return {};
        },
        true, kStepOfMany);
  });
}

TEST_P(EveryVersionSweep, AGrantThatFailsHalfwayAndAMapThatFailsLate) {
  const bool late = !is({"7.14", "7.15"});
  const bool tails_again = is({"7.0", "7.1", "7.2"});  // more than one grant a chunk
  expect_clean(env(), [=](const Hip& hip) {
    const auto context = context_of();
    EXPECT_TRUE(whole_cycle(context, 3, hc::HostAccess::kNone).ok);
    const Counts before = counts_of(hip);
    for (int k = 1; k <= 6; ++k) {
      ASSERT_EQ(hip.fake_hip_control(("fail=hipMemSetAccess:" + std::to_string(k) + "::partial").c_str()), 0);
      const Outcome partial = whole_cycle(context, 3, hc::HostAccess::kNone);
      // There a call may fail for the tail first, and the one that follows it makes good.
      EXPECT_TRUE(!partial.ok || (tails_again && k > 1)) << k;
      EXPECT_EQ(partial.error.chunk, tails_again ? partial.error.chunk : (k - 1) % 3)
          << partial.error.message;
      EXPECT_EQ(partial.error.chunk >= 0, !partial.ok) << partial.error.message;
      ASSERT_EQ(counts_of(hip), before) << k;
      if (!late) continue;
      ASSERT_EQ(hip.fake_hip_control(("fail=hipMemMap:" + std::to_string(k) + "::late").c_str()), 0);
      const Outcome mapped = whole_cycle(context, 3, hc::HostAccess::kNone);
      EXPECT_FALSE(mapped.ok);
      EXPECT_EQ(mapped.error.operation, "hipMemSetAccess");
      EXPECT_EQ(mapped.error.chunk, (k - 1) % 3) << mapped.error.message;
      ASSERT_EQ(counts_of(hip), before) << k;
    }
    ASSERT_EQ(hip.fake_hip_control("fail="), 0);
  });
}

}  // namespace
}  // namespace hb::test
