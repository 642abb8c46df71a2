// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Memory of the library's own beside its exports: when it may sleep, and what of it may be exported.
#include "memory.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "export_plan.h"
#include "export_record.h"
#include "fake_peer.h"
#include "hipbroker/hipbroker.h"
#include "interval_map.h"
#include "support/memfd.h"

namespace hb::test {
namespace {

using client::ExportedRanges;
using client::ExportRecord;
using client::ExportRequest;
using client::IntervalMap;
using client::Memory;

class OwnMemory : public testing::Test {
 protected:
  OwnMemory() : mark_(*client::ProcessMark::take()), ends_(connected_ends()) {
    session_ = std::make_shared<client::Session>(std::move(ends_.session), "the test's", mark_);
    client::AllocateRequest request;
    request.bytes = 2 * kPage;
    request.chunk_bytes = kPage;
    request.reserve_bytes = 4 * kPage;
    memory_ = std::move(*Memory::create(HB_PROVIDER_HOST, request, mark_));
  }
  [[nodiscard]] ExportedRanges::Ticket announce() const {
    return ExportedRanges::announce({{reinterpret_cast<std::uintptr_t>(memory_->allocation().ptr()), kPage}},
                                    mark_);
  }
  // As an export of it that was just made.
  [[nodiscard]] std::shared_ptr<ExportRecord> exported() {
    auto record = std::make_shared<ExportRecord>();
    record->set_session(session_);
    record->id = 7;
    record->name = "kv";
    auto layout = std::make_shared<ExportRecord::Layout>();
    layout->parts.push_back({0, kPage, memory_->allocation().ptr(), memory_, true});
    std::vector<ExportedRanges::Ticket> ranges;
    ranges.push_back(announce());
    EXPECT_TRUE(ranges[0].publish(record));
    record->set_layout(std::move(layout), std::move(ranges));
    return record;
  }
  [[nodiscard]] ExportRequest request(std::uint64_t offset, std::uint64_t bytes) const {
    ExportRequest request;
    request.ptr = static_cast<char*>(memory_->allocation().ptr()) + offset;
    request.bytes = bytes;
    return request;
  }

  client::ProcessMark mark_;
  Ends ends_;
  std::shared_ptr<client::Session> session_;
  std::shared_ptr<Memory> memory_;
};

TEST_F(OwnMemory, SleepsUnlessAnExportOfItIsAliveAndNotSuspended) {
  const auto record = exported();
  const auto refused = memory_->sleep();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().status, HB_BUSY);
  EXPECT_EQ(refused.error().what, "export 7");
  for (const char* words : {"export 7", "(kv)", "suspend or withdraw"})
    EXPECT_NE(refused.error().message.find(words), std::string::npos) << refused.error().message;
  EXPECT_FALSE(memory_->is_asleep());
  EXPECT_FALSE(memory_->allocation().asleep());
  record->suspended = true;
  ASSERT_TRUE(memory_->sleep());
  EXPECT_TRUE(memory_->allocation().asleep());
  ASSERT_TRUE(memory_->sleep());
  record->suspended = false;
  ASSERT_TRUE(memory_->wake());
  EXPECT_FALSE(memory_->sleep());
  record->withdrawn = true;
  EXPECT_TRUE(memory_->sleep());
  EXPECT_TRUE(memory_->wake());
}

// Exports outlive the library's memory, and that of another may lie at the same place.
TEST_F(OwnMemory, IsNotHeldByAnExportOfWhatWasThereBefore) {
  const auto record = exported();
  auto layout = std::make_shared<ExportRecord::Layout>(*record->layout());
  layout->parts[0].memory.reset();
  std::vector<ExportedRanges::Ticket> ranges;
  ranges.push_back(announce());
  EXPECT_TRUE(ranges[0].publish(record));
  record->set_layout(std::move(layout), std::move(ranges));
  EXPECT_TRUE(memory_->sleep());
}

TEST_F(OwnMemory, IsHeldByAnExportInTheMakingWhichLearnsNothing) {
  auto ticket = announce();
  EXPECT_EQ(memory_->sleep().error().status, HB_BUSY);
  EXPECT_TRUE(ticket.publish(std::make_shared<ExportRecord>()));
}

TEST_F(OwnMemory, IsExportedAsFarAsItIsThereAndAwake) {
  EXPECT_EQ(plan_export(request(0, 2 * kPage))->chunks.size(), 2u);
  // Addresses for growth are not memory.
  const auto beyond = plan_export(request(kPage, 2 * kPage));
  ASSERT_FALSE(beyond);
  EXPECT_EQ(beyond.error().status, HB_RANGE);
  EXPECT_EQ(beyond.error().limit, kPage);
  EXPECT_EQ(plan_export(request(3 * kPage, 1)).error().status, HB_RANGE);
  ASSERT_TRUE(memory_->grow(2 * kPage));
  EXPECT_EQ(plan_export(request(kPage, 3 * kPage))->chunks.size(), 3u);
  ASSERT_TRUE(memory_->sleep());
  EXPECT_EQ(plan_export(request(0, kPage)).error().status, HB_SUSPENDED);
  ASSERT_TRUE(memory_->wake());
  EXPECT_TRUE(plan_export(request(0, 4 * kPage)));
}

TEST_F(OwnMemory, IsFoundAgainAfterItWokeBesideAGuest) {
  ASSERT_TRUE(memory_->sleep());
  client::Interval guest;
  guest.start = reinterpret_cast<std::uintptr_t>(memory_->allocation().ptr());
  guest.bytes = kPage;
  guest.origin = client::Origin::kImported;
  const auto added = IntervalMap::get().add(guest);
  IntervalMap::get().remove(memory_->allocation().ptr(), added);
  ASSERT_TRUE(memory_->wake());
  EXPECT_TRUE(plan_export(request(0, kPage)));
}

TEST_F(OwnMemory, OfAParentDoesNotChangeInAChild) {
  const pid_t child = ::fork();
  if (child == 0) {
    int wrong = memory_->grow(1).error().status != HB_FORKED;
    wrong += memory_->sleep().error().status != HB_FORKED;
    wrong += memory_->wake().error().status != HB_FORKED;
    wrong += memory_->allocation().bytes() != 2 * kPage;
    ::_exit(wrong);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST_F(OwnMemory, IsAskedWhileAnotherThreadChangesIt) {
  std::atomic<bool> done{false};
  std::thread asking([&] {
    std::uint64_t seen = 0;
    while (!done.load()) {
      const std::uint64_t bytes = memory_->allocation().bytes();
      EXPECT_GE(bytes, seen);
      seen = bytes;
      EXPECT_LE(memory_->allocation().chunk_count(), 4u);
      static_cast<void>(memory_->allocation().chunk_bytes());
      static_cast<void>(memory_->allocation().host_granted());
    }
  });
  std::thread napping([&] {
    for (int nap = 0; nap < 20; ++nap) {
      EXPECT_TRUE(memory_->sleep());
      EXPECT_TRUE(memory_->wake());
    }
  });
  for (int grown = 0; grown < 2;) {
    const auto more = memory_->grow(1);
    grown += more ? 1 : 0;
    EXPECT_TRUE(more || more.error().status == HB_SUSPENDED);
  }
  napping.join();
  done = true;
  asking.join();
  EXPECT_EQ(memory_->allocation().bytes(), 4 * kPage);
}

}  // namespace
}  // namespace hb::test
