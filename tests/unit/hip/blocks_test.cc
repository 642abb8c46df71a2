// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// An arena's blocks of GPU memory over every version of the fake.
#include "providers/hip/blocks.h"

#include <sys/mman.h>

#include <thread>

#include "arena.h"
#include "hipbroker/hipbroker.h"
#include "interval_map.h"
#include "unit/hip/fixture.h"

namespace hb::test {
namespace {

using client::Arena;
using client::ProcessMark;
using client::Result;
using EveryVersionBlocks = EveryVersion;
HB_EVERY_VERSION(EveryVersionBlocks);

Result<std::unique_ptr<hc::Blocks>> try_make(const hc::ContextPtr& context, std::size_t blocks,
                                             hc::HostAccess host = hc::HostAccess::kNone,
                                             std::uint64_t block_bytes = 0) {
  auto access = hc::access_for(*context, 1, {}, host);
  if (!access) return tl::unexpected(access.error());
  hc::BlockSpec spec;
  spec.block_bytes = block_bytes;
  spec.bytes = blocks * (block_bytes == 0 ? kChunk : block_bytes);
  spec.access = *access;
  return hc::Blocks::reserve(context, spec);
}

std::unique_ptr<hc::Blocks> make(const hc::ContextPtr& context, std::size_t blocks,
                                 hc::HostAccess host = hc::HostAccess::kNone) {
  auto made = try_make(context, blocks, host);
  EXPECT_TRUE(made) << text_of(made);
  return made ? std::move(*made) : nullptr;
}

// The fake's first allocation opens a descriptor of its own.
void warm(const hc::ContextPtr& context) { EXPECT_EQ(text_of(make(context, 1)->map_block(0)), "ok"); }

bool write(const Hip& hip, char* at, char mark) {
  return hip.hipMemcpy(at, &mark, 1, fh::kCopyHostToDevice) == fh::kSuccess;
}
char read(const Hip& hip, const char* at) {
  char mark = 0;
  EXPECT_EQ(hip.hipMemcpy(&mark, at, 1, fh::kCopyDeviceToHost), fh::kSuccess);
  return mark;
}

TEST_P(EveryVersionBlocks, ComeAndGoInAnyOrder) {
  expect_clean(env(), [](const Hip& hip) {
    const auto context = context_of();
    warm(context);
    const Counts before = counts_of(hip);
    {
      auto blocks = make(context, 6);
      char* const base = blocks->base();
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(base) % kChunk, 0u);
      EXPECT_EQ(hip.fake_hip_device_bytes(1), 0u);
      for (const std::size_t i : {4u, 1u, 2u}) {
        EXPECT_EQ(text_of(blocks->map_block(i)), "ok");
        EXPECT_TRUE(write(hip, base + i * kChunk, static_cast<char>('a' + i)));
      }
      EXPECT_EQ(hip.fake_hip_device_bytes(1), 3 * kChunk);
      // What is given back is given back while the others stay, and comes again at its place.
      EXPECT_TRUE(blocks->unmap_block(1));
      EXPECT_EQ(hip.fake_hip_device_bytes(1), 2 * kChunk);
      EXPECT_EQ(text_of(blocks->map_block(0)), "ok");
      EXPECT_EQ(text_of(blocks->map_block(1)), "ok");
      EXPECT_TRUE(write(hip, base + kChunk, 'z'));
      EXPECT_EQ(blocks->base(), base);
      // Every device reads them (7.14: the order of grants decides).
      for (int device = 0; device < 4; ++device) {
        EXPECT_EQ(hip.hipSetDevice(device), fh::kSuccess);
        EXPECT_EQ(read(hip, base + kChunk), 'z');
        EXPECT_EQ(read(hip, base + 2 * kChunk), 'c');
        EXPECT_EQ(read(hip, base + 4 * kChunk), 'e');
      }
      EXPECT_EQ(hip.hipSetDevice(0), fh::kSuccess);
      EXPECT_TRUE(blocks->gives_back());
      EXPECT_EQ(blocks->ordinal(), 1);
      EXPECT_EQ(blocks->peers().size(), 3u);
    }
    EXPECT_EQ(counts_of(hip), before);
    EXPECT_EQ(hip.fake_hip_device_bytes(1), 0u);
    EXPECT_EQ(hc::teardown_failures(), 0u);
  });
}

TEST_P(EveryVersionBlocks, LieSideBySideInAsFewReservationsAsTheRuntimeAllows) {
  const bool each = is({"7.0", "7.1", "7.2"});
  expect_clean(env(), [each](const Hip& hip) {
    const auto context = context_of();
    warm(context);
    const Counts before = counts_of(hip);
    const auto blocks = make(context, 5);
    EXPECT_EQ(counts_of(hip).reservations, before.reservations + (each ? 5 : 1));
    EXPECT_GE(hip.fake_hip_count("reserved"), static_cast<long long>(5 * kChunk));
  });
}

TEST_P(EveryVersionBlocks, AreWholeMultiplesOfTheGranularity) {
  expect_clean(env(), [](const Hip& hip) {
    const auto context = context_of();
    auto blocks = try_make(context, 3, hc::HostAccess::kNone, 3 * kChunk + 1);
    ASSERT_TRUE(blocks) << text_of(blocks);
    EXPECT_EQ((*blocks)->block_bytes(), 4 * kChunk);
    EXPECT_EQ((*blocks)->block_count(), 3u);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>((*blocks)->base()) % (4 * kChunk), 0u);
    EXPECT_EQ(text_of((*blocks)->map_block(2)), "ok");
    EXPECT_EQ(hip.fake_hip_device_bytes(1), 4 * kChunk);
  });
}

TEST_P(EveryVersionBlocks, LetTheCpuInWhereTheRuntimeCan) {
  const bool can = is({"7.2", "7.14", "7.15"});
  expect_clean(env(), [can](const Hip& hip) {
    const auto context = context_of();
    auto blocks = make(context, 3, hc::HostAccess::kPrefer);
    EXPECT_FALSE(blocks->host_granted());
    EXPECT_EQ(text_of(blocks->map_block(1)), "ok");
    EXPECT_EQ(blocks->host_granted(), can);
    if (can) blocks->base()[kChunk] = 'h';
    EXPECT_EQ(text_of(blocks->map_block(2)), "ok");
    if (can) {
      EXPECT_EQ(read(hip, blocks->base() + kChunk), 'h');
    }
    // All are alike: one that the CPU cannot reach is none of them.
    ASSERT_EQ(hip.fake_hip_control("host_grant_fails=1"), 0);
    const auto third = blocks->map_block(0);
    EXPECT_EQ(third.has_value(), !can) << text_of(third);
    if (!third) {
      EXPECT_EQ(third.error().status, HB_UNSUPPORTED);
    }
    EXPECT_EQ(blocks->host_granted(), can);
    ASSERT_EQ(hip.fake_hip_control("host_grant_fails=0"), 0);
    EXPECT_EQ(try_make(context, 1, hc::HostAccess::kRequire).has_value(), can);
  });
}

// Every driver call fails once: a block is there or it is not, and what can be had later is had.
TEST_P(EveryVersionBlocks, EveryCallFailsOnceAndNothingIsLeft) {
  expect_clean(env(), [](const Hip& hip) {
    const auto context = context_of();
    warm(context);
    const Counts before = counts_of(hip);
    int failed = 0;
    for (long long k = 1;; ++k) {
      ASSERT_EQ(hip.hipSetDevice(2), fh::kSuccess);
      ASSERT_EQ(hip.fake_hip_control(("fail=any:" + std::to_string(k)).c_str()), 0);
      {
        auto blocks = try_make(context, 3);
        std::size_t mapped = 0;
        if (!blocks) {
          ASSERT_NE(blocks.error().message.find("hipErrorUnknown (999)"), std::string::npos)
              << blocks.error().message;
          ++failed;
        }
        for (std::size_t i = 0; blocks && i < 3; ++i) {
          const auto made = (*blocks)->map_block(i);
          mapped += made ? 1 : 0;
          if (made) continue;
          ++failed;
          ASSERT_EQ(made.error().chunk, static_cast<std::int64_t>(i)) << made.error().message;
          ASSERT_NE(made.error().message.find("hipErrorUnknown (999)"), std::string::npos);
        }
        ASSERT_EQ(hip.fake_hip_device_bytes(1), mapped * kChunk) << k;
        if (mapped == 3) {
          const auto shared = (*blocks)->export_block(2);
          failed += shared ? 0 : 1;
          if ((*blocks)->unmap_block(1)) {
            // While it is exported its descriptor holds it; another block was given back here.
            ASSERT_EQ(hip.fake_hip_device_bytes(1), 2 * kChunk) << k;
          }
        }
      }
      const long long calls = hip.fake_hip_count("calls");
      ASSERT_EQ(hip.fake_hip_control("fail="), 0);
      ASSERT_EQ(counts_of(hip), before) << "call " << k;
      ASSERT_EQ(hip.fake_hip_device_bytes(1), 0u) << "call " << k;
      int current = -1;
      ASSERT_EQ(hip.hipGetDevice(&current), fh::kSuccess);
      ASSERT_EQ(current, 2) << "call " << k;
      ASSERT_EQ(hip.hipPeekAtLastError(), fh::kSuccess) << "call " << k;
      if (calls < k) break;
    }
    EXPECT_GT(failed, 10);
  });
}

// 7.2 gives memory back only with its addresses: whoever takes them meanwhile has them.
TEST(HipBlocks, AddressesThatAnotherTookAreLostByName) {
  expect_clean({{"FAKE_HIP_VERSION", "7.2"}}, [](const Hip& hip) {
    const auto context = context_of();
    auto blocks = make(context, 3);
    EXPECT_EQ(text_of(blocks->map_block(1)), "ok");
    ASSERT_EQ(hip.fake_hip_control("reserve_elsewhere=1"), 0);
    EXPECT_FALSE(blocks->unmap_block(1));
    EXPECT_EQ(hip.fake_hip_device_bytes(1), 0u);
    const auto gone = blocks->map_block(1);
    ASSERT_FALSE(gone);
    EXPECT_EQ(gone.error().status, HB_ADDRESS);
    EXPECT_NE(gone.error().message.find("block 1"), std::string::npos) << gone.error().message;
    ASSERT_EQ(hip.fake_hip_control("reserve_elsewhere=0"), 0);
    EXPECT_EQ(text_of(blocks->map_block(1)), "ok");  // they were free again
  });
}

TEST(HipBlocks, ARuntimeThatNeverGivesTheAddressesIsNamed) {
  expect_clean({{"FAKE_HIP_VERSION", "7.1"}, {"FAKE_HIP_SWITCHES", "reserve_elsewhere=1"}},
               [](const Hip& hip) {
                 const auto context = context_of();
                 const Counts before = counts_of(hip);
                 const auto none = try_make(context, 3);
                 ASSERT_FALSE(none);
                 EXPECT_EQ(none.error().status, HB_ADDRESS) << none.error().message;
                 EXPECT_EQ(counts_of(hip), before);
               });
}

TEST(HipBlocks, MemoryThatARuntimeKeepsIsNotCalledGivenBack) {
  expect_clean({{"FAKE_HIP_VERSION", "6.4"}},
               [](const Hip&) { EXPECT_FALSE(make(context_of(), 1)->gives_back()); });
}

// hipMemUnmap waits for streams there: others go on meanwhile.
TEST(HipBlocks, AWaitingUnmapHoldsNobodyUp) {
  expect_clean({{"FAKE_HIP_VERSION", "7.15"}}, [](const Hip& hip) {
    const auto context = context_of();
    auto blocks = make(context, 3);
    EXPECT_EQ(text_of(blocks->map_block(0)), "ok");
    ASSERT_EQ(hip.fake_hip_control("busy=all"), 0);
    std::thread giving([&] { EXPECT_TRUE(blocks->unmap_block(0)); });
    while (hip.fake_hip_count("waiting") == 0) std::this_thread::yield();
    EXPECT_EQ(text_of(blocks->map_block(1)), "ok");
    EXPECT_TRUE(blocks->export_block(1).has_value());
    ASSERT_EQ(hip.fake_hip_control("idle=all"), 0);
    giving.join();
  });
}

TEST_P(EveryVersionBlocks, UnderAnArenaAreAllOfAnAllocationOrNone) {
  expect_clean(env(), [](const Hip& hip) {
    const auto context = context_of();
    warm(context);
    const Counts before = counts_of(hip);
    {
      auto arena = std::make_shared<Arena>(make(context, 8), 2 * kChunk, *ProcessMark::take());
      const auto small = arena->allocate(1000, 0);
      ASSERT_TRUE(small) << text_of(small);
      const Counts one = counts_of(hip);
      for (int k = 1; k <= 3; ++k) {
        ASSERT_EQ(hip.fake_hip_control(("fail=hipMemCreate:" + std::to_string(k) + ":2").c_str()), 0);
        const auto refused = arena->allocate(3 * kChunk, 0);
        ASSERT_FALSE(refused);
        EXPECT_EQ(refused.error().status, HB_NO_MEMORY) << refused.error().message;
        EXPECT_EQ(counts_of(hip), one) << k;
        EXPECT_EQ(hip.fake_hip_device_bytes(1), kChunk);
      }
      ASSERT_EQ(hip.fake_hip_control("fail="), 0);
      const auto large = arena->allocate(3 * kChunk, kChunk);
      ASSERT_TRUE(large) << text_of(large);
      EXPECT_EQ(hip.fake_hip_device_bytes(1), 4 * kChunk);
      EXPECT_TRUE(write(hip, static_cast<char*>(*large) + 2 * kChunk, 'x'));
      // An export gives one descriptor a block, and what was exported from is not kept.
      auto memory = client::IntervalMap::get().find(*large)->memory.lock();
      ASSERT_EQ(memory->allocation().chunk_count(), 3u);
      static_cast<void>(memory->allocation().chunk(2));
      EXPECT_TRUE(memory->allocation().export_chunk(2).has_value());
      EXPECT_NE(memory->allocation().handle_kind(), 0u);
      memory.reset();
      EXPECT_TRUE(arena->free(*small));
      EXPECT_EQ(hip.fake_hip_device_bytes(1), 4 * kChunk);  // one kept
      EXPECT_TRUE(arena->free(*large));
      EXPECT_EQ(hip.fake_hip_device_bytes(1), 2 * kChunk);  // and another, the third no more
      arena->close();
    }
    EXPECT_EQ(counts_of(hip), before);
    EXPECT_EQ(hip.fake_hip_device_bytes(1), 0u);
  });
}

}  // namespace
}  // namespace hb::test
