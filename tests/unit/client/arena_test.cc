// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// The book of an arena, over blocks that only count, and over host memory.
#include "arena.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <random>
#include <thread>

#include "hipbroker/hipbroker.h"
#include "interval_map.h"
#include "support/fd_census.h"
#include "support/memfd.h"
#include "wire/unique_fd.h"

namespace hb::test {
namespace {

using client::AllocateRequest;
using client::Arena;
using client::IntervalMap;
using client::ProcessMark;
using client::Result;

constexpr std::uint64_t kBlock = 4 * kPage;

std::size_t mappings() {
  std::ifstream maps("/proc/self/maps");
  std::size_t count = 0;
  for (std::string line; std::getline(maps, line);)
    count += line.find("memfd:hipbroker") != std::string::npos;
  return count;
}

std::shared_ptr<Arena> arena_of(std::size_t blocks, std::size_t keep = 0) {
  AllocateRequest request;
  request.bytes = blocks * kBlock;
  request.chunk_bytes = kBlock;
  auto made = Arena::create(HB_PROVIDER_HOST, request, keep * kBlock, *ProcessMark::take());
  EXPECT_TRUE(made) << made.error().message;
  return std::move(*made);
}

char* allocate(Arena& arena, std::uint64_t bytes, std::uint64_t alignment = 0) {
  const auto ptr = arena.allocate(bytes, alignment);
  EXPECT_TRUE(ptr) << ptr.error().message;
  return ptr ? static_cast<char*>(*ptr) : nullptr;
}

std::uint64_t blocks_of(const Arena& arena) { return arena.info().mapped / kBlock; }

TEST(AnArenaOfTheHost, MapsWhatAnAllocationTouchesAndGivesItBack) {
  const std::size_t before = count_fds();
  const std::size_t mapped = mappings();
  const auto arena = arena_of(16);
  EXPECT_EQ(count_fds(), before);
  EXPECT_EQ(blocks_of(*arena), 0u);
  char* const first = allocate(*arena, kBlock + 1);  // two blocks
  EXPECT_EQ(blocks_of(*arena), 2u);
  char* const second = allocate(*arena, kBlock);  // the rest of the second, and a third
  EXPECT_EQ(blocks_of(*arena), 3u);
  EXPECT_EQ(count_fds(), before + 3);
  std::memset(first, 1, kBlock + 1);
  std::memset(second, 2, kBlock);
  EXPECT_EQ(first[kBlock], 1);
  EXPECT_TRUE(arena->free(first));
  EXPECT_EQ(blocks_of(*arena), 2u);
  EXPECT_EQ(second[0], 2);
  EXPECT_EQ(arena->info().used, kBlock);
  EXPECT_TRUE(arena->free(second));
  EXPECT_EQ(blocks_of(*arena), 0u);
  EXPECT_EQ(count_fds(), before);
  EXPECT_EQ(mappings(), mapped);
  EXPECT_EQ(arena->info().largest_free, 16 * kBlock);
  EXPECT_EQ(arena->info().used, 0u);
}

TEST(AnArenaOfTheHost, KeepsAsMuchAsItWasToldAndTrimsIt) {
  const auto arena = arena_of(16, 3);
  char* const large = allocate(*arena, 5 * kBlock);
  large[0] = 7;
  EXPECT_TRUE(arena->free(large));
  EXPECT_EQ(blocks_of(*arena), 3u);
  char* const again = allocate(*arena, 4 * kBlock);
  EXPECT_EQ(again, large);
  EXPECT_EQ(again[0], 7);  // the same memory: nothing was made for what was kept
  EXPECT_EQ(blocks_of(*arena), 4u);
  char* const more = allocate(*arena, 2 * kBlock);
  EXPECT_TRUE(arena->free(again));
  EXPECT_EQ(blocks_of(*arena), 5u);
  arena->trim();
  EXPECT_EQ(blocks_of(*arena), 2u);
  EXPECT_TRUE(arena->free(more));
  EXPECT_EQ(blocks_of(*arena), 2u);
  arena->trim();
  EXPECT_EQ(blocks_of(*arena), 0u);
  EXPECT_EQ(arena->info().largest_free, 16 * kBlock);
}

TEST(AnArenaOfTheHost, AlignsTheAddress) {
  const auto arena = arena_of(16);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(arena->info().base) % kBlock, 0u);
  char* const small = allocate(*arena, 1);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(allocate(*arena, 1)) % Arena::kGranule, 0u);
  char* const whole = allocate(*arena, kBlock, kBlock);
  EXPECT_EQ(whole, small + kBlock);
  EXPECT_EQ(arena->allocate(1, 3).error().status, HB_INVALID);
  arena->close();
}

TEST(AnArenaOfTheHost, NamesWhatItCannotDo) {
  const auto arena = arena_of(4);
  char* const all = allocate(*arena, 4 * kBlock);
  const auto full = arena->allocate(kPage, 0);
  ASSERT_FALSE(full);
  EXPECT_EQ(full.error().status, HB_NO_MEMORY);
  EXPECT_EQ(full.error().used, kPage);
  EXPECT_EQ(full.error().limit, 0u);
  EXPECT_NE(full.error().message.find(std::to_string(4 * kBlock) + " reserved"), std::string::npos)
      << full.error().message;
  EXPECT_EQ(arena->allocate(0, 0).error().status, HB_INVALID);
  EXPECT_EQ(arena->allocate(UINT64_MAX, 0).error().status, HB_NO_MEMORY);
  const auto inside = arena->free(all + kPage);
  EXPECT_EQ(inside.error().status, HB_INVALID);
  EXPECT_NE(inside.error().message.find(std::to_string(kPage) + " bytes inside"), std::string::npos)
      << inside.error().message;
  EXPECT_TRUE(arena->free(all));
  EXPECT_NE(arena->free(all).error().message.find("not any more"), std::string::npos);
  EXPECT_NE(arena->free(&all).error().message.find("outside"), std::string::npos);
  EXPECT_EQ(arena->free(nullptr).error().status, HB_INVALID);

  const auto mark = *ProcessMark::take();
  AllocateRequest request;
  EXPECT_EQ(Arena::create(HB_PROVIDER_HOST, request, 0, mark).error().status, HB_INVALID);
  request.bytes = kBlock;
  request.chunk_bytes = kPage + 1;
  EXPECT_EQ(Arena::create(HB_PROVIDER_HOST, request, 0, mark).error().status, HB_INVALID);
  request.chunk_bytes = UINT64_MAX;
  EXPECT_EQ(Arena::create(HB_PROVIDER_HOST, request, 0, mark).error().status, HB_RANGE);
  request.chunk_bytes = kPage;
  request.bytes = (std::uint64_t{1} << 20) * kPage + 1;
  EXPECT_EQ(Arena::create(HB_PROVIDER_HOST, request, 0, mark).error().what, "block_bytes");
  EXPECT_EQ(Arena::create(99, request, 0, mark).error().status, HB_UNSUPPORTED);
}

TEST(AnArenaOfTheHost, WithoutDescriptorsNothingIsMade) {
  const auto arena = arena_of(64);
  char* const one = allocate(*arena, 1);
  const std::size_t before = count_fds();
  rlimit old{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &old), 0);
  rlimit few = old;
  few.rlim_cur = before + 8;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
  const auto refused = arena->allocate(32 * kBlock, 0);
  EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &old), 0);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().status, HB_NO_FDS);
  EXPECT_EQ(refused.error().what, "RLIMIT_NOFILE");
  EXPECT_EQ(count_fds(), before);
  EXPECT_EQ(blocks_of(*arena), 1u);
  EXPECT_EQ(arena->info().used, Arena::kGranule);
  EXPECT_TRUE(arena->free(one));
}

TEST(AnArenaOfTheHost, IsFoundByItsAddresses) {
  const auto arena = arena_of(4);
  char* const base = static_cast<char*>(arena->info().base);
  EXPECT_TRUE(IntervalMap::get().is_reserved(base));
  EXPECT_TRUE(IntervalMap::get().is_reserved(base + 4 * kBlock - 1));
  EXPECT_FALSE(IntervalMap::get().is_reserved(base + 4 * kBlock));
  EXPECT_FALSE(IntervalMap::get().find(base));
  char* const mine = allocate(*arena, 1000);
  EXPECT_EQ(IntervalMap::get().find(mine + 999)->bytes, 1000u);
  EXPECT_FALSE(IntervalMap::get().find(mine + 1000));
  // Across two blocks: each cut to the allocation.
  char* const wide = allocate(*arena, kBlock);
  const auto memory = IntervalMap::get().find(wide)->memory.lock();
  ASSERT_NE(memory, nullptr);
  ASSERT_EQ(memory->allocation().chunk_count(), 2u);
  const auto head = memory->allocation().chunk(0);
  const auto tail = memory->allocation().chunk(1);
  EXPECT_EQ(head.offset, 1024u);
  EXPECT_EQ(head.bytes, kBlock - 1024);
  EXPECT_EQ(tail.offset, 0u);
  EXPECT_EQ(tail.bytes, 1024u);
  EXPECT_EQ(tail.object_bytes, kBlock);
  EXPECT_NE(head.fd.get(), tail.fd.get());
  arena->close();
  EXPECT_FALSE(IntervalMap::get().find(mine));
}

// Somebody may hold a descriptor of it, and must not see what comes next.
TEST(AnArenaOfTheHost, DoesNotKeepWhatWasExportedFrom) {
  const auto arena = arena_of(4, 4);
  char* const shown = allocate(*arena, kBlock, kBlock);
  char* const hidden = allocate(*arena, kBlock, kBlock);
  std::memset(shown, 5, kBlock);
  std::memset(hidden, 6, kBlock);
  static_cast<void>(IntervalMap::get().find(shown)->memory.lock()->allocation().chunk(0));
  EXPECT_TRUE(arena->free(shown));
  EXPECT_TRUE(arena->free(hidden));
  EXPECT_EQ(blocks_of(*arena), 1u);
  EXPECT_EQ(allocate(*arena, kBlock, kBlock)[1], 0);
  arena->close();
}

TEST(AnArenaOfTheHost, LivesAsLongAsAnAlias) {
  auto arena = arena_of(4);
  char* const mine = allocate(*arena, 100);
  std::memset(mine, 3, 100);
  auto alias = IntervalMap::get().find(mine)->memory.lock();
  EXPECT_TRUE(arena->free(mine));
  EXPECT_FALSE(arena->free(mine));
  EXPECT_FALSE(IntervalMap::get().find(mine));  // and is exported no more
  EXPECT_EQ(blocks_of(*arena), 1u);
  EXPECT_NE(allocate(*arena, 100), mine);
  arena->close();
  arena.reset();
  EXPECT_EQ(mine[99], 3);
  alias.reset();
  EXPECT_FALSE(IntervalMap::get().is_reserved(mine));
}

TEST(AnArenaOfTheHost, ServesThreadsAtOnce) {
  const std::size_t before = count_fds();
  const auto arena = arena_of(64, 2);
  std::vector<std::thread> threads;
  for (int number = 0; number < 4; ++number)
    threads.emplace_back([&arena, number] {
      std::mt19937 random(static_cast<unsigned>(number));
      std::vector<std::pair<char*, std::uint64_t>> mine;
      for (int round = 0; round < 1000; ++round) {
        if (mine.size() < 6 && random() % 2 == 0) {
          const std::uint64_t bytes = 1 + random() % (2 * kBlock);
          const auto ptr = arena->allocate(bytes, std::uint64_t{1} << random() % 15);
          if (!ptr) {
            EXPECT_EQ(ptr.error().status, HB_NO_MEMORY) << ptr.error().message;
            continue;
          }
          std::memset(*ptr, number + 1, bytes);
          mine.emplace_back(static_cast<char*>(*ptr), bytes);
        } else if (!mine.empty()) {
          const auto [ptr, bytes] = mine[random() % mine.size()];
          std::erase(mine, std::pair(ptr, bytes));
          EXPECT_EQ(ptr[0], number + 1);
          EXPECT_EQ(ptr[bytes - 1], number + 1);
          EXPECT_TRUE(arena->free(ptr));
        }
        if (round % 100 == 0) arena->trim();
      }
      for (const auto& [ptr, bytes] : mine) EXPECT_TRUE(arena->free(ptr));
    });
  for (std::thread& thread : threads) thread.join();
  arena->trim();
  const Arena::Info info = arena->info();
  EXPECT_EQ(info.mapped, 0u);
  EXPECT_EQ(info.used, 0u);
  EXPECT_EQ(info.allocations, 0u);
  EXPECT_EQ(info.largest_free, info.reserved);
  EXPECT_EQ(count_fds(), before);
}

TEST(AnArenaOfTheHost, IsInertInAForkedChild) {
  auto arena = arena_of(4);
  char* const mine = allocate(*arena, 100);
  std::memset(mine, 9, 100);
  const pid_t child = ::fork();
  if (child == 0) {
    const std::size_t fds = count_fds();
    bool right = !arena->is_here() && mine[50] == 9;
    arena->close();
    arena.reset();
    right = right && count_fds() == fds;  // the numbers may be the child's own by now
    ::_exit(right ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(mine[50], 9);
  EXPECT_EQ(blocks_of(*arena), 1u);
  EXPECT_TRUE(arena->free(mine));
}

}  // namespace
}  // namespace hb::test
