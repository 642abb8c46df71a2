// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// The book of an arena over blocks that fail, wait and get lost on command.
#include <gtest/gtest.h>

#include <condition_variable>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <set>
#include <thread>

#include "arena.h"
#include "hipbroker/hipbroker.h"

namespace hb::test {
namespace {

using client::Arena;
using client::BlockRange;
using client::DeviceId;
using client::PeerGrant;
using client::ProcessMark;
using client::Result;

constexpr std::uint64_t kBlock = 1024;

// Shared with the arena that owns it.
struct Fake {
  std::mutex mutex;
  std::condition_variable changed;
  std::set<std::size_t> mapped;
  int maps = 0;
  int fails_at = 0;  // the so manieth map
  bool hold_unmaps = false;
  int waiting = 0;
  bool loses = false;
  int wrong = 0;
};

class FakeBlocks final : public BlockRange {
 public:
  FakeBlocks(Fake& fake, std::size_t count)
      : fake_(fake), count_(count), memory_(std::aligned_alloc(kBlock, count * kBlock), &std::free) {}
  [[nodiscard]] char* base() const override { return static_cast<char*>(memory_.get()); }
  [[nodiscard]] std::uint64_t block_bytes() const override { return kBlock; }
  [[nodiscard]] std::size_t block_count() const override { return count_; }
  [[nodiscard]] Result<void> check_room(std::uint64_t, const std::string&) const override { return {}; }
  [[nodiscard]] Result<void> map_block(std::size_t index) override {
    const std::lock_guard guard(fake_.mutex);
    if (++fake_.maps == fake_.fails_at) return client::fail(HB_NO_MEMORY, "block " + std::to_string(index));
    fake_.wrong += fake_.mapped.insert(index).second ? 0 : 1;
    return {};
  }
  [[nodiscard]] bool unmap_block(std::size_t index) noexcept override {
    std::unique_lock lock(fake_.mutex);
    ++fake_.waiting;
    fake_.changed.notify_all();
    fake_.changed.wait(lock, [this] { return !fake_.hold_unmaps; });
    --fake_.waiting;
    fake_.wrong += fake_.mapped.erase(index) == 1 ? 0 : 1;
    return !fake_.loses;
  }
  [[nodiscard]] BorrowedFd descriptor(std::size_t) const override { return {}; }
  [[nodiscard]] Result<UniqueFd> export_block(std::size_t) override { return UniqueFd(); }
  [[nodiscard]] std::uint32_t handle_kind() const override { return 0; }
  [[nodiscard]] const DeviceId& device() const override { return none_; }
  [[nodiscard]] int ordinal() const override { return -1; }
  [[nodiscard]] std::vector<PeerGrant> peers() const override { return {}; }
  [[nodiscard]] bool host_granted() const override { return true; }
  [[nodiscard]] bool gives_back() const override { return true; }
  void forget() noexcept override {}

 private:
  Fake& fake_;
  std::size_t count_;
  std::unique_ptr<void, decltype(&std::free)> memory_;
  DeviceId none_;
};

class AnArena : public testing::Test {
 protected:
  void make(std::size_t blocks, std::size_t keep = 0) {
    arena_ = std::make_shared<Arena>(std::make_unique<FakeBlocks>(fake_, blocks), keep * kBlock,
                                     *ProcessMark::take());
  }
  void TearDown() override {
    arena_->close();
    arena_.reset();
    EXPECT_EQ(fake_.wrong, 0);
  }
  char* allocate(std::uint64_t bytes) {
    const auto ptr = arena_->allocate(bytes, 0);
    EXPECT_TRUE(ptr) << ptr.error().message;
    return ptr ? static_cast<char*>(*ptr) : nullptr;
  }
  void until_waiting(int count) {
    std::unique_lock lock(fake_.mutex);
    fake_.changed.wait(lock, [&] { return fake_.waiting == count; });
  }
  void let_go() {
    const std::lock_guard guard(fake_.mutex);
    fake_.hold_unmaps = false;
    fake_.changed.notify_all();
  }
  Fake fake_;
  std::shared_ptr<Arena> arena_;
};

TEST_F(AnArena, HasAllBlocksOfAnAllocationOrNone) {
  make(8, 8);
  char* const first = allocate(kBlock / 2);
  for (int k = 2; k <= 5; ++k) {
    fake_.maps = 1;
    fake_.fails_at = k;
    const auto refused = arena_->allocate(4 * kBlock, 0);  // the rest of the first block, and four
    ASSERT_FALSE(refused) << k;
    EXPECT_EQ(refused.error().message, "block " + std::to_string(k - 1));
    EXPECT_EQ(fake_.mapped, (std::set<std::size_t>{0})) << k;
    EXPECT_EQ(arena_->info().mapped, kBlock);
    EXPECT_EQ(arena_->info().used, kBlock / 2);
  }
  fake_.fails_at = 0;
  EXPECT_EQ(allocate(4 * kBlock), first + kBlock / 2);
  EXPECT_EQ(fake_.mapped.size(), 5u);
}

TEST_F(AnArena, KeepsWhatWasFreeBeforeAnAllocationFailed) {
  make(8, 2);
  EXPECT_TRUE(arena_->free(allocate(2 * kBlock)));
  EXPECT_EQ(fake_.mapped.size(), 2u);
  fake_.fails_at = 4;
  EXPECT_FALSE(arena_->allocate(5 * kBlock, 0));
  EXPECT_EQ(fake_.mapped, (std::set<std::size_t>{0, 1}));
}

TEST_F(AnArena, WaitsOnlyForWhatItNeedsWhileABlockIsGivenBack) {
  make(3);
  char* const slow = allocate(kBlock);
  char* const other = allocate(kBlock);
  fake_.hold_unmaps = true;
  std::thread freeing([&] { EXPECT_TRUE(arena_->free(slow)); });
  until_waiting(1);
  // Questions, and allocations that fit elsewhere, wait for nothing.
  EXPECT_EQ(arena_->info().used, kBlock);
  EXPECT_EQ(arena_->info().mapped, 2 * kBlock);
  EXPECT_EQ(allocate(kBlock), other + kBlock);
  EXPECT_FALSE(arena_->allocate(4 * kBlock, 0));  // could never be
  // What fits only there waits for it, and finds it empty.
  std::thread wanting([&] { EXPECT_EQ(allocate(kBlock), slow); });
  let_go();
  freeing.join();
  wanting.join();
  EXPECT_EQ(arena_->info().mapped, 3 * kBlock);
}

TEST_F(AnArena, TwoHalvesOfOneBlockGoOnce) {
  make(1);
  for (int round = 0; round < 200; ++round) {
    char* const one = allocate(kBlock / 2);
    char* const two = allocate(kBlock / 2);
    std::thread freeing([&] { EXPECT_TRUE(arena_->free(one)); });
    EXPECT_TRUE(arena_->free(two));
    freeing.join();
    ASSERT_TRUE(fake_.mapped.empty());
    ASSERT_EQ(fake_.wrong, 0);
  }
}

TEST_F(AnArena, DoesWithoutAddressesThatWereLost) {
  make(3);
  char* const first = allocate(kBlock);
  fake_.loses = true;
  EXPECT_TRUE(arena_->free(first));
  fake_.loses = false;
  const Arena::Info info = arena_->info();
  EXPECT_EQ(info.lost, kBlock);
  EXPECT_EQ(info.used, 0u);
  EXPECT_EQ(info.largest_free, 2 * kBlock);
  EXPECT_EQ(allocate(kBlock), first + kBlock);
  EXPECT_FALSE(arena_->allocate(2 * kBlock, 0));
}

}  // namespace
}  // namespace hb::test
