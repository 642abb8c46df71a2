// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// A process that ends between any two stores to the memory, and memory that is not what was written: each
// state is opened as the next process would.
#include <gtest/gtest.h>

#include <random>
#include <string>

#include "restart/checksum.h"
#include "restart/record_layout.h"
#include "unit/daemon/restart/records.h"

namespace hb::test {
namespace {

using restart::RecordHeap;
using restart::RecordKey;

struct Change {
  RecordKey key;
  std::optional<std::string> text;  // none: dropped
};

void apply(RecordHeap& heap, Records& records, const std::vector<Change>& changes) {
  heap.begin();
  for (const Change& change : changes) {
    if (change.text) {
      ASSERT_TRUE(heap.put(change.key, bytes_of(*change.text)));
      records[change.key] = *change.text;
    } else {
      heap.drop(change.key);
      records.erase(change.key);
    }
  }
  heap.commit();
}

// Every state between two stores is the one before or the one after; and what opening it does may end at any
// store as well.
void crash_everywhere(RecordHeap& heap, Records& records, const std::vector<Change>& changes, bool twice) {
  const Records before = records;
  std::vector<std::vector<std::byte>> states;
  const auto keep = [&] { states.emplace_back(heap.memory().begin(), heap.memory().end()); };
  heap.set_step(keep);
  apply(heap, records, changes);
  heap.set_step({});
  keep();
  std::size_t seen_before = 0;
  bool was_after = false;
  for (const auto& state : states) {
    auto opened = open_copy(state);
    ASSERT_TRUE(opened) << opened.error();
    const Records found = records_of(opened->heap);
    const bool is_before = found == before;
    ASSERT_TRUE(is_before || found == records) << found.size() << " records, neither before nor after";
    ASSERT_FALSE(is_before && was_after && before != records) << "it went back";
    was_after = was_after || !is_before;
    seen_before += is_before ? 1 : 0;
    ASSERT_EQ(opened->report.corrupt, 0u);
    if (!twice) continue;
    // The next process changes something, and is opened again: nothing of what was freed comes back.
    put_now(opened->heap, {200, 1, 1}, "later");
    auto later = found;
    later[{200, 1, 1}] = "later";
    ASSERT_EQ(records_of(reopen(opened->heap).heap), later);
  }
  if (before != records) {
    EXPECT_GT(seen_before, 0u);
  }
  EXPECT_TRUE(before == records || was_after);
}

TEST(RecordHeapCrash, EveryStateIsTheOneBeforeOrTheOneAfter) {
  RecordHeap heap = make_heap();
  Records records;
  crash_everywhere(heap, records,
                   {{{1, 1, 0}, "one"}, {{1, 2, 0}, "two"}, {{2, 1, 0}, std::string(500, 'z')}}, true);
  crash_everywhere(heap, records, {{{1, 1, 0}, "another"}, {{1, 2, 0}, std::nullopt}, {{3, 1, 7}, "new"}},
                   true);
  crash_everywhere(heap, records,
                   {{{1, 1, 0}, std::nullopt},
                    {{1, 1, 0}, "back"},
                    {{3, 1, 7}, "a"},
                    {{3, 1, 7}, "b"},
                    {{2, 1, 0}, std::nullopt},
                    {{4, 4, 4}, "x"},
                    {{4, 4, 4}, std::nullopt}},
                   true);
  crash_everywhere(heap, records, {{{1, 1, 0}, "back"}}, true);
}

// Over a size that makes the memory grow, and slabs change their size of blocks.
TEST(RecordHeapCrash, AlsoWhereSlabsAreMadeAndMemoryGrows) {
  RecordHeap heap = make_heap(RecordHeap::kLeastBytes + (3u << 16));
  Records records;
  crash_everywhere(heap, records,
                   {{{1, 1, 0}, std::string(60'000, 'a')}, {{1, 2, 0}, std::string(20'000, 'b')}}, false);
  crash_everywhere(heap, records, {{{1, 1, 0}, std::nullopt}, {{1, 2, 0}, std::nullopt}}, false);
  crash_everywhere(heap, records, {{{1, 3, 0}, std::string(3'000, 'c')}, {{1, 4, 0}, std::string(900, 'd')}},
                   false);
  crash_everywhere(heap, records, {{{1, 5, 0}, "small"}, {{1, 6, 0}, std::string(60'000, 'e')}}, false);
}

// A record's bytes may look like a block; where a slab is cut anew they must not become one.
TEST(RecordHeapCrash, BytesOfARecordNeverBecomeABlock) {
  RecordHeap heap = make_heap(RecordHeap::kLeastBytes);
  // As a block of 64 bytes would lie in it, at every place where one could begin.
  std::string forged(RecordHeap::kRecordBytes, '\0');
  for (std::size_t at = 64 - restart::layout::kBlockHead; at + 64 <= forged.size(); at += 64) {
    restart::layout::Block block{};
    block.mark = restart::layout::kBlockMark;
    block.slot = 77;
    block.kind = 7;
    block.checksum =
        restart::checksum(std::as_bytes(std::span(&block, 1)).first(restart::layout::kSummed), {});
    std::memcpy(forged.data() + at, &block, sizeof block);
  }
  put_now(heap, {1, 1, 0}, forged);
  heap.begin();
  heap.drop({1, 1, 0});
  heap.commit();
  std::vector<std::vector<std::byte>> states;
  heap.set_step([&] { states.emplace_back(heap.memory().begin(), heap.memory().end()); });
  for (std::uint32_t i = 0; i < 1000; ++i) put_now(heap, {2, i, 0}, "x");
  heap.set_step({});
  for (std::size_t i = 0; i < states.size(); i += 97) {
    auto opened = open_copy(states[i]);
    ASSERT_TRUE(opened);
    EXPECT_FALSE(opened->heap.find({7, 77, 0})) << i;
  }
  EXPECT_EQ(reopen(heap).heap.records(), 1000u);
}

TEST(RecordHeapCrash, RandomTransactionsAndCrashesAgainstAMap) {
  for (unsigned seed = 1; seed <= 40; ++seed) {
    std::mt19937 random(seed);
    const auto below = [&](std::size_t n) { return static_cast<std::uint32_t>(random() % n); };
    RecordHeap heap = make_heap();
    Records records;
    for (int round = 0; round < 30; ++round) {
      std::vector<Change> changes;
      for (std::size_t n = 1 + below(8); n > 0; --n) {
        Change change{{static_cast<std::uint8_t>(below(3)), below(6), below(2)}, std::nullopt};
        if (below(4) != 0) {
          const std::size_t size = below(5) == 0 ? below(40'000) : below(300);
          change.text = std::string(size, static_cast<char>('a' + below(26)));
        }
        changes.push_back(std::move(change));
      }
      const Records before = records;
      // At a store that is drawn: most come to their end.
      const std::size_t fatal = below(60);
      std::size_t stores = 0;
      std::vector<std::byte> left;
      heap.set_step([&] {
        if (stores++ == fatal) left.assign(heap.memory().begin(), heap.memory().end());
      });
      apply(heap, records, changes);
      heap.set_step({});
      if (left.empty()) continue;
      auto opened = open_copy(left);
      ASSERT_TRUE(opened) << opened.error() << ", seed " << seed;
      const Records found = records_of(opened->heap);
      ASSERT_TRUE(found == before || found == records) << "seed " << seed << ", round " << round;
      heap = std::move(opened->heap);
      records = found;
    }
    ASSERT_EQ(records_of(reopen(heap).heap), records) << "seed " << seed;
  }
}

class BrokenRecords : public testing::Test {
 protected:
  BrokenRecords() {
    for (std::uint32_t i = 0; i < 20; ++i) {
      records_[{1, i, 0}] = std::string(10 * i, static_cast<char>('a' + i));
      put_now(heap_, {1, i, 0}, records_[{1, i, 0}]);
    }
  }
  [[nodiscard]] std::vector<std::byte> bytes() const {
    return {heap_.memory().begin(), heap_.memory().end()};
  }
  RecordHeap heap_ = make_heap();
  Records records_;
};

TEST_F(BrokenRecords, AFlippedBitLosesItsRecordAndIsCounted) {
  std::size_t refused = 0, lost = 0;
  for (std::size_t bit = 0; bit < 200 * 1024 * 8; bit += bit < 16 * 1024 ? 13 : 4099) {
    std::vector<std::byte> memory = bytes();
    if (bit / 8 >= memory.size()) break;
    memory[bit / 8] ^= std::byte{1} << (bit % 8);
    auto opened = open_copy(memory);
    if (!opened) {
      ++refused;
      EXPECT_LT(bit / 8, restart::layout::kSlabsAt) << opened.error();
      continue;
    }
    const Records found = records_of(opened->heap);
    for (const auto& [key, text] : found) EXPECT_EQ(records_.at(key), text);
    if (found.size() == records_.size()) continue;
    ++lost;
    EXPECT_GT(opened->report.corrupt, 0u) << "bit " << bit;
  }
  EXPECT_GT(refused, 0u);
  EXPECT_GT(lost, 0u);
}

TEST_F(BrokenRecords, EachBlockIsChecked) {
  const auto found =
      std::search(heap_.memory().begin(), heap_.memory().end(), bytes_of(records_[{1, 12, 0}]).begin(),
                  bytes_of(records_[{1, 12, 0}]).end());
  ASSERT_NE(found, heap_.memory().end());
  std::vector<std::byte> memory = bytes();
  memory[static_cast<std::size_t>(found - heap_.memory().begin()) + 5] ^= std::byte{0x10};
  auto opened = open_copy(memory);
  ASSERT_TRUE(opened);
  EXPECT_EQ(opened->report.corrupt, 1u);
  EXPECT_EQ(opened->report.records, 19u);
  EXPECT_FALSE(opened->heap.find({1, 12, 0}));
  EXPECT_TRUE(opened->heap.find({1, 13, 0}));
  put_now(opened->heap, {1, 12, 0}, "anew");
  EXPECT_EQ(reopen(opened->heap).report.corrupt, 0u);
}

TEST_F(BrokenRecords, TruncatedItSaysSoAndGivesWhatIsLeft) {
  put_now(heap_, {2, 0, 0}, std::string(60'000, 'x'));
  std::vector<std::byte> memory = bytes();
  memory.resize(RecordHeap::kLeastBytes);
  auto opened = open_copy(memory);
  ASSERT_TRUE(opened) << opened.error();
  EXPECT_TRUE(opened->report.truncated);
  for (const auto& [key, text] : records_of(opened->heap)) EXPECT_EQ(records_.at(key), text);
  memory.resize(RecordHeap::kLeastBytes - 1);
  const auto refused = open_copy(memory);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().find("131071 bytes, at least 131072"), std::string::npos) << refused.error();
}

TEST_F(BrokenRecords, SomethingElseIsRefusedByName) {
  std::vector<std::byte> memory = bytes();
  memory[0] = std::byte{'X'};
  auto opened = open_copy(memory);
  ASSERT_FALSE(opened);
  EXPECT_NE(opened.error().find("something else"), std::string::npos) << opened.error();
}

TEST_F(BrokenRecords, ANewerFormatIsReadOnlyIfItSaysSo) {
  const auto with_format = [this](std::uint32_t format, std::uint32_t oldest_reader) {
    std::vector<std::byte> memory = bytes();
    auto head = restart::layout::load<restart::layout::Head>(memory.data());
    head.format = format;
    head.oldest_reader = oldest_reader;
    head.checksum = restart::checksum(
        std::as_bytes(std::span(&head, 1)).first(offsetof(restart::layout::Head, checksum)));
    std::memcpy(memory.data(), &head, sizeof head);
    return open_copy(memory);
  };
  const auto compatible = with_format(7, 1);
  ASSERT_TRUE(compatible) << compatible.error();
  EXPECT_EQ(compatible->report.format, 7u);
  EXPECT_EQ(compatible->heap.records(), 20u);
  const auto newer = with_format(7, 2);
  ASSERT_FALSE(newer);
  EXPECT_EQ(newer.error(),
            "the memory of records has format 7, which formats from 2 on can read; this daemon reads 1 to 1");
  // The daemon then starts afresh in the same memory.
  auto region = os::MemoryRegion::make("hbtest-afresh", heap_.memory().size());
  ASSERT_TRUE(region);
  std::copy(heap_.memory().begin(), heap_.memory().end(), region->bytes().begin());
  const auto afresh = RecordHeap::make(std::move(*region));
  ASSERT_TRUE(afresh);
  EXPECT_TRUE(afresh->report.made);
  EXPECT_EQ(afresh->heap.records(), 0u);
}

}  // namespace
}  // namespace hb::test
