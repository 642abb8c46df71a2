// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// B17: the same thing opened twice is one mapping. Without a daemon: what is made is counted, not mapped.
#include "import_cache.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>

#include "client.h"
#include "fake_peer.h"
#include "import.h"
#include "support/wait.h"

namespace hb::test {
namespace {

using client::ImportCache;
using client::ImportKey;
using client::Result;

// An import's mapping that counts.
class CountedRange final : public client::ImportedRange {
 public:
  explicit CountedRange(std::atomic<int>& unmapped) : unmapped_(unmapped) {}
  ~CountedRange() override { ++unmapped_; }
  Result<void> map(const Part&) override { return {}; }
  client::Result<void> replace(const Part&) override { return {}; }
  void undo_replaced() noexcept override {}
  void keep_replaced() noexcept override {}
  std::uint64_t part_at(std::size_t) const override { return 0; }
  void cut(std::uint64_t) noexcept override {}
  void sleep() noexcept override {}
  client::Result<void> wake() override { return {}; }
  void* ptr() const override { return nullptr; }
  Span mapped() const override { return {}; }

 private:
  std::atomic<int>& unmapped_;
};

class AnImportCache : public testing::Test {
 protected:
  AnImportCache() : ends_(connected_ends()) {
    auto mark = client::ProcessMark::take();
    session_ = std::make_shared<client::Session>(std::move(ends_.session), "the test's", *mark);
    key_.target.name = "x";
  }
  std::unique_ptr<hb_import> make(std::uint64_t bytes = 100) {
    ++made_;
    auto imported = std::make_unique<hb_import>();
    imported->grant.bytes = bytes;
    imported->lease = client::Lease(session_, 1);
    imported->lease.watch(&word_, 1);
    imported->range = std::make_unique<CountedRange>(unmapped_);
    return imported;
  }
  hb_import* get(ImportCache& cache, const ImportKey& key) {
    return *cache.get(key, nullptr, client::kNoDeadline, [&] { return make(); });
  }
  ImportKey named(const char* name) const {
    ImportKey key = key_;
    key.target.name = name;
    return key;
  }

  Ends ends_;
  std::shared_ptr<client::Session> session_;
  client::Stats stats_;
  ImportKey key_;
  std::atomic<std::uint32_t> word_{1};
  std::atomic<int> made_{0};
  std::atomic<int> unmapped_{0};
};

TEST_F(AnImportCache, B17OpensOnceAndClosesOnce) {
  ImportCache cache(0, stats_);
  std::promise<void> go;
  const std::shared_future<void> started = go.get_future().share();
  const auto slow = [&]() -> Result<std::unique_ptr<hb_import>> {
    started.wait();
    return make();
  };
  auto one =
      std::async(std::launch::async, [&] { return *cache.get(key_, nullptr, client::kNoDeadline, slow); });
  auto two =
      std::async(std::launch::async, [&] { return *cache.get(key_, nullptr, client::kNoDeadline, slow); });
  go.set_value();
  hb_import* const first = one.get();
  EXPECT_EQ(two.get(), first);
  EXPECT_EQ(get(cache, key_), first);
  EXPECT_EQ(made_, 1);
  EXPECT_EQ(stats_.cache_hits, 2u);
  cache.give_back(first);
  cache.give_back(first);
  EXPECT_EQ(unmapped_, 0);
  cache.give_back(first);
  EXPECT_EQ(unmapped_, 1);
}

TEST_F(AnImportCache, TellsApartWhatIsNotTheSame) {
  ImportCache cache(0, stats_);
  std::vector<ImportKey> keys(6, key_);
  keys[1].target.name = "y";
  keys[2].offset = 4096;
  keys[3].access = HB_ACCESS_READ_WRITE;
  keys[4].demand_level = HB_LEVEL_SEALED;
  keys[5].target.owner_uid = 7;
  std::vector<hb_import*> imports;
  for (const ImportKey& key : keys) imports.push_back(get(cache, key));
  EXPECT_EQ(made_, 6);
  for (hb_import* imported : imports) cache.give_back(imported);
}

TEST_F(AnImportCache, NeverHitsWhatHasEnded) {
  ImportCache cache(1000, stats_);
  hb_import* const old = get(cache, key_);
  word_ = 2;
  hb_import* const newer = get(cache, key_);
  EXPECT_NE(newer, old);
  EXPECT_EQ(unmapped_, 0) << "it is still in use";
  cache.give_back(old);
  EXPECT_EQ(unmapped_, 1);
  cache.give_back(newer);
  EXPECT_EQ(unmapped_, 2) << "what has ended is not kept";
}

TEST_F(AnImportCache, NeverHitsWhatTheSessionTookAlong) {
  ImportCache cache(0, stats_);
  hb_import* const old = get(cache, key_);
  session_->close();
  hb_import* const newer = get(cache, key_);
  EXPECT_NE(newer, old);
  cache.give_back(old);
  cache.give_back(newer);
}

TEST_F(AnImportCache, KeepsTheLastUsedUpToItsSize) {
  ImportCache cache(250, stats_);
  for (const char* name : {"a", "b", "c"}) cache.give_back(get(cache, named(name)));
  EXPECT_EQ(unmapped_, 1);  // a
  EXPECT_EQ(stats_.evictions, 1u);
  cache.give_back(get(cache, named("b")));
  EXPECT_EQ(made_, 3) << "b was kept";
  cache.give_back(get(cache, named("a")));
  EXPECT_EQ(made_, 4);
  cache.give_back(get(cache, named("b")));
  EXPECT_EQ(made_, 4) << "c was the least recently used";
  cache.drop_idle();
  EXPECT_EQ(unmapped_, 4);
}

TEST_F(AnImportCache, NeverEvictsWhatIsInUse) {
  ImportCache cache(100, stats_);
  hb_import* const used = get(cache, named("used"));
  for (const char* name : {"a", "b", "c", "d"}) cache.give_back(get(cache, named(name)));
  EXPECT_EQ(unmapped_, 3);
  EXPECT_EQ(get(cache, named("used")), used);
  cache.give_back(used);
  cache.give_back(used);
  cache.drop_idle();
  EXPECT_EQ(unmapped_, 5);
}

TEST_F(AnImportCache, AWaiterMakesItsOwnWhenTheFirstFailed) {
  ImportCache cache(0, stats_);
  std::promise<void> entered;
  std::promise<void> fail_now;
  auto first = std::async(std::launch::async, [&] {
    return cache.get(key_, nullptr, client::kNoDeadline, [&]() -> Result<std::unique_ptr<hb_import>> {
      entered.set_value();
      fail_now.get_future().wait();
      return client::fail(HB_DENIED, "no");
    });
  });
  entered.get_future().wait();
  EXPECT_EQ(cache.get(key_, nullptr, 0, [&] { return make(); }).error().status, HB_TIMEOUT);
  auto second = std::async(std::launch::async, [&] { return get(cache, key_); });
  fail_now.set_value();
  EXPECT_EQ(first.get().error().status, HB_DENIED);
  hb_import* const imported = second.get();
  EXPECT_EQ(made_, 1);
  cache.give_back(imported);
}

TEST_F(AnImportCache, AnExceptionLeavesNoPlaceholder) {
  ImportCache cache(0, stats_);
  EXPECT_THROW(static_cast<void>(cache.get(
                   key_, nullptr, 0, []() -> Result<std::unique_ptr<hb_import>> { throw std::bad_alloc(); })),
               std::bad_alloc);
  cache.give_back(get(cache, key_));
}

}  // namespace
}  // namespace hb::test
