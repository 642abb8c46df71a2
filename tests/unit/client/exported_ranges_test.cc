// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "exported_ranges.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include "clock.h"
#include "export_record.h"
#include "library_scope.h"
#include "shareability.h"

namespace hb::client {
namespace {

ProcessMark mark() { return *ProcessMark::take(); }

std::shared_ptr<ExportRecord> published(ExportedRanges::Ticket& ticket) {
  auto record = std::make_shared<ExportRecord>();
  EXPECT_TRUE(ticket.publish(record));
  return record;
}

std::size_t found(std::uintptr_t start, std::uint64_t bytes) {
  ExportedRanges* const ranges = ExportedRanges::find();
  if (ranges == nullptr || !ranges->may_overlap(start, bytes)) return 0;
  return ranges->over(start, bytes).records.size();
}

TEST(TheExportedRanges, AreFoundByAnyByteOfThem) {
  auto small = ExportedRanges::announce({{0x5000, 0x1000}}, mark());
  auto large = ExportedRanges::announce({{0x1000, 0x10000}, {0x40000, 0x1000}}, mark());
  const auto first = published(small);
  const auto second = published(large);
  EXPECT_EQ(found(0x5fff, 1), 2u);
  EXPECT_EQ(found(0x6000, 1), 1u);
  EXPECT_EQ(found(0x0, 0x1000), 0u);
  EXPECT_EQ(found(0x0, 0x1001), 1u);
  EXPECT_EQ(found(0x10fff, 1), 1u);
  EXPECT_EQ(found(0x11000, 0x2f000), 0u);
  EXPECT_EQ(found(0x40fff, UINT64_MAX), 1u);
  EXPECT_EQ(found(0x5800, 0x3a801), 3u);  // both places of the second
  large.remove();
  EXPECT_EQ(found(0x0, UINT64_MAX), 1u);
  EXPECT_FALSE(ExportedRanges::find()->may_overlap(0, 0x1000));
  small.remove();
  small.remove();
  EXPECT_FALSE(ExportedRanges::find()->may_overlap(0, UINT64_MAX));
}

TEST(TheExportedRanges, HoldNothingWithoutAnAddress) {
  auto none = ExportedRanges::announce({{0, 0x1000}, {0x7000, 0}}, mark());
  EXPECT_TRUE(none.publish(std::make_shared<ExportRecord>()));
  EXPECT_EQ(found(0, UINT64_MAX), 0u);
}

TEST(TheExportedRanges, GoWithTheirRecord) {
  auto record = std::make_shared<ExportRecord>();
  std::vector<ExportedRanges::Ticket> ranges;
  ranges.push_back(ExportedRanges::announce({{0x5000, 0x1000}}, mark()));
  EXPECT_TRUE(ranges[0].publish(record));
  record->set_layout(std::make_shared<ExportRecord::Layout>(), std::move(ranges));
  EXPECT_EQ(found(0x5000, 1), 1u);
  record.reset();
  EXPECT_FALSE(ExportedRanges::find()->may_overlap(0x5000, 1));
}

TEST(TheExportedRanges, TellAnExportInTheMakingThatItsMemoryIsGone) {
  auto ticket = ExportedRanges::announce({{0x5000, 0x1000}}, mark());
  ExportedRanges& ranges = *ExportedRanges::find();
  const auto elsewhere = ranges.over(0x6000, 0x1000);
  EXPECT_TRUE(ranges.wait_for(elsewhere, 0));
  const auto over = ranges.over(0x5000, 1);
  EXPECT_TRUE(over.records.empty());
  EXPECT_FALSE(ranges.wait_for(over, 0));  // not made yet
  EXPECT_FALSE(ticket.publish(std::make_shared<ExportRecord>()));
  EXPECT_FALSE(ranges.wait_for(over, 0));  // nor withdrawn yet
  std::thread maker([&] { ticket.remove(); });
  EXPECT_TRUE(ranges.wait_for(over, kNoDeadline));
  maker.join();
}

// A child has none of its parent's exports, and waits for no lock of theirs.
TEST(TheExportedRanges, AreNotAForkedChilds) {
  auto ticket = ExportedRanges::announce({{0x5000, 0x1000}}, mark());
  const auto record = published(ticket);
  Shareability::get(mark()).remember({0x5000, 0x1000, 1}, {});
  const pid_t child = ::fork();
  if (child == 0) {
    if (ExportedRanges::find() != nullptr || Shareability::may_know(0x5000, 1)) ::_exit(1);
    auto own = ExportedRanges::announce({{0x9000, 0x1000}}, mark());
    if (ExportedRanges::find()->may_overlap(0x5000, 0x1000)) ::_exit(2);
    own.remove();
    ::_exit(0);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(found(0x5000, 1), 1u);
  Shareability::forget(0x5000, 1);
}

TEST(ALibraryScope, IsTheThreadsOwn) {
  EXPECT_FALSE(LibraryScope::entered());
  {
    const LibraryScope outer;
    { const LibraryScope inner; }
    EXPECT_TRUE(LibraryScope::entered());
    std::thread([] { EXPECT_FALSE(LibraryScope::entered()); }).join();
  }
  EXPECT_FALSE(LibraryScope::entered());
}

std::shared_ptr<const Error> refusal(const char* text) {
  return std::make_shared<const Error>(fail(HB_NOT_SHAREABLE, text).value());
}

TEST(TheShareability, HoldsForOneAllocation) {
  Shareability& known = Shareability::get(mark());
  const MemoryIdentity memory{0x20000, 0x1000, 7};
  known.remember(memory, {refusal("small")});
  ASSERT_TRUE(known.find(memory));
  EXPECT_EQ(known.find(memory)->refusal->message, "small");
  EXPECT_FALSE(known.find({0x20000, 0x2000, 7}));
  EXPECT_FALSE(known.find({0x20000, 0x1000, 8}));
  EXPECT_FALSE(known.find({0x20800, 0x1000, 7}));
  // Another allocation at the place of the old one.
  known.remember({0x1f000, 0x2000, 9}, {});
  EXPECT_FALSE(known.find(memory));
  EXPECT_EQ(known.find({0x1f000, 0x2000, 9})->refusal, nullptr);
  Shareability::forget(0x21000, 0x1000);
  EXPECT_TRUE(known.find({0x1f000, 0x2000, 9}));
  Shareability::forget(0x20fff, 1);
  EXPECT_FALSE(known.find({0x1f000, 0x2000, 9}));
  EXPECT_FALSE(Shareability::may_know(0, UINT64_MAX));
}

TEST(TheShareability, DoesNotGrowWithoutEnd) {
  Shareability& known = Shareability::get(mark());
  for (std::uintptr_t i = 1; i <= 5000; ++i) known.remember({i << 20, 0x1000, 1}, {});
  std::size_t left = 0;
  for (std::uintptr_t i = 1; i <= 5000; ++i) left += known.find({i << 20, 0x1000, 1}) ? 1 : 0;
  EXPECT_EQ(left, 4096u);
  EXPECT_TRUE(known.find({std::uintptr_t{5000} << 20, 0x1000, 1}));
  Shareability::forget(0, UINT64_MAX);
  EXPECT_FALSE(Shareability::may_know(0, UINT64_MAX));
}

}  // namespace
}  // namespace hb::client
