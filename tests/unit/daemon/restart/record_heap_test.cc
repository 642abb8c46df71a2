// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "restart/record_heap.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <string>

#include "unit/daemon/restart/records.h"

namespace hb::test {
namespace {

using restart::RecordHeap;
using restart::RecordKey;

TEST(RecordHeap, WhatIsCommittedIsThereInTheNext) {
  RecordHeap heap = make_heap();
  heap.begin();
  ASSERT_TRUE(heap.put({1, 2, 3}, bytes_of("first")));
  ASSERT_TRUE(heap.put({1, 2, 4}, bytes_of("")));
  ASSERT_TRUE(heap.put({2, 0, 0}, bytes_of(std::string(RecordHeap::kRecordBytes, 'x'))));
  EXPECT_FALSE(heap.find({1, 2, 3}).has_value()) << "not committed yet";
  heap.commit();
  const Records want{
      {{1, 2, 3}, "first"}, {{1, 2, 4}, ""}, {{2, 0, 0}, std::string(RecordHeap::kRecordBytes, 'x')}};
  EXPECT_EQ(records_of(heap), want);
  EXPECT_EQ(heap.record_bytes(), 5 + RecordHeap::kRecordBytes);

  const auto again = reopen(heap);
  EXPECT_EQ(records_of(again.heap), want);
  EXPECT_EQ(again.report.records, 3u);
  EXPECT_EQ(again.report.bytes, 5 + RecordHeap::kRecordBytes);
  EXPECT_EQ(again.report.corrupt + again.report.uncommitted, 0u);
  EXPECT_EQ(again.report.format, RecordHeap::kFormat);
  EXPECT_FALSE(again.report.made || again.report.truncated);
}

TEST(RecordHeap, WithinATransactionTheLastWordCounts) {
  RecordHeap heap = make_heap();
  put_now(heap, {1, 1, 0}, "old");
  put_now(heap, {1, 2, 0}, "stays");
  heap.begin();
  ASSERT_TRUE(heap.put({1, 1, 0}, bytes_of("a")));
  heap.drop({1, 1, 0});
  heap.drop({1, 1, 0});
  ASSERT_TRUE(heap.put({1, 1, 0}, bytes_of("b")));
  ASSERT_TRUE(heap.put({1, 1, 0}, bytes_of("c")));
  ASSERT_TRUE(heap.put({1, 3, 0}, bytes_of("new, and gone again")));
  heap.drop({1, 3, 0});
  ASSERT_TRUE(heap.put({1, 2, 0}, bytes_of("other")));
  ASSERT_TRUE(heap.put({1, 2, 0}, bytes_of("stays")));
  heap.commit();
  const Records want{{{1, 1, 0}, "c"}, {{1, 2, 0}, "stays"}};
  EXPECT_EQ(records_of(heap), want);
  EXPECT_EQ(records_of(reopen(heap).heap), want);
}

TEST(RecordHeap, ARolledBackTransactionLeavesNothing) {
  RecordHeap heap = make_heap();
  put_now(heap, {1, 1, 0}, "old");
  heap.begin();
  ASSERT_TRUE(heap.put({1, 1, 0}, bytes_of("new")));
  heap.drop({1, 1, 0});
  ASSERT_TRUE(heap.put({1, 2, 0}, bytes_of("another")));
  heap.rollback();
  const Records want{{{1, 1, 0}, "old"}};
  EXPECT_EQ(records_of(heap), want);
  EXPECT_EQ(reopen(heap).report.uncommitted, 0u);
  put_now(heap, {1, 3, 0}, "later");
  EXPECT_EQ(records_of(reopen(heap).heap), (Records{{{1, 1, 0}, "old"}, {{1, 3, 0}, "later"}}));
}

TEST(RecordHeap, TheSameBytesAreNotWrittenAgain) {
  RecordHeap heap = make_heap();
  put_now(heap, {1, 1, 0}, "same");
  const std::uint64_t before = heap.committed();
  int stores = 0;
  heap.set_step([&stores] { ++stores; });
  put_now(heap, {1, 1, 0}, "same");
  heap.begin();
  heap.drop({9, 9, 9});
  heap.commit();
  EXPECT_EQ(stores, 0);
  EXPECT_EQ(heap.committed(), before);
}

TEST(RecordHeap, WithoutATransactionNothingIsTaken) {
  RecordHeap heap = make_heap();
  EXPECT_FALSE(heap.put({1, 1, 0}, bytes_of("x")));
  heap.drop({1, 1, 0});
  heap.commit();
  heap.rollback();
  EXPECT_EQ(heap.records(), 0u);
}

TEST(RecordHeap, ARecordThatIsTooLargeIsRefusedWithBothNumbers) {
  RecordHeap heap = make_heap();
  heap.begin();
  const auto refused = heap.put({1, 1, 0}, bytes_of(std::string(RecordHeap::kRecordBytes + 1, 'x')));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error(), "a record of 65489 bytes, the limit is 65488");
  heap.commit();
}

TEST(RecordHeap, ItGrowsUpToItsLimitAndSaysSo) {
  constexpr std::size_t kMost = 4u << 20;
  RecordHeap heap = make_heap(kMost);
  Records want;
  std::string refusal;
  for (std::uint32_t i = 0; refusal.empty() && i < 200; ++i) {
    heap.begin();
    const std::string text(60'000 + i, static_cast<char>('a' + i % 26));
    if (const auto put = heap.put({1, i, 0}, bytes_of(text)); put) {
      heap.commit();
      want[{1, i, 0}] = text;
    } else {
      refusal = put.error();
      heap.rollback();
    }
  }
  EXPECT_GT(want.size(), 50u);
  EXPECT_NE(refusal.find("4194304 bytes, the limit is 4194304"), std::string::npos) << refusal;
  EXPECT_EQ(records_of(heap), want);
  EXPECT_EQ(records_of(reopen(heap).heap), want);
  // What goes makes room for others, of other sizes too.
  heap.begin();
  for (const auto& [key, text] : want) {
    if (key.slot % 2 == 0) {
      heap.drop(key);
    }
  }
  heap.commit();
  std::erase_if(want, [](const auto& one) { return one.first.slot % 2 == 0; });
  for (std::uint32_t i = 0; i < 20'000; ++i) {
    put_now(heap, {2, i, 0}, "small");
    want[{2, i, 0}] = "small";
  }
  EXPECT_EQ(records_of(heap), want);
  EXPECT_EQ(records_of(reopen(heap).heap), want);
  EXPECT_LE(heap.region_bytes(), kMost);
}

// What memory ran out looks like: the file may not become larger.
TEST(RecordHeap, WhereTheMemoryCannotGrowPutSaysSo) {
  RecordHeap heap = make_heap();
  put_now(heap, {1, 0, 0}, "before");
  rlimit unlimited{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &unlimited), 0);
  const rlimit small{RecordHeap::kLeastBytes, unlimited.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const auto handler = ::signal(SIGXFSZ, SIG_IGN);
  heap.begin();
  const auto refused = heap.put({1, 1, 0}, bytes_of(std::string(60'000, 'x')));
  heap.rollback();
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &unlimited), 0);
  ::signal(SIGXFSZ, handler);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().find("EFBIG"), std::string::npos) << refused.error();
  EXPECT_NE(refused.error().find("from 131072 to "), std::string::npos) << refused.error();
  put_now(heap, {1, 1, 0}, std::string(60'000, 'x'));
  EXPECT_EQ(reopen(heap).report.records, 2u);
}

}  // namespace
}  // namespace hb::test
