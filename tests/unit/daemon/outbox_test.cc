// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "ipc/outbox.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <array>

#include "support/memfd.h"
#include "wire/limits.h"

namespace hb::test {
namespace {

using core::HandleId;
using ipc::Outbox;
using ipc::OutHandle;
using ipc::QueuedFrame;

QueuedFrame frame(std::uint64_t request_id, std::size_t bytes, std::vector<HandleId> handles = {}) {
  QueuedFrame made;
  made.request_id = request_id;
  made.bytes.resize(bytes);
  for (const HandleId handle : handles) made.handles.push_back({handle});
  return made;
}

std::vector<std::byte> gone(std::uint64_t request_id) {
  return std::vector<std::byte>(3, static_cast<std::byte>(request_id));
}

TEST(Outbox, KeepsOrderAndCounts) {
  Outbox box;
  ASSERT_TRUE(box.push(frame(1, 100, {HandleId{7}})));
  ASSERT_TRUE(box.push(frame(2, 50)));
  EXPECT_EQ(box.bytes(), 150u);
  EXPECT_EQ(box.fds(), 1u);
  EXPECT_EQ(box.front().request_id, 1u);
  box.pop();
  EXPECT_EQ(box.front().request_id, 2u);
  EXPECT_EQ(box.bytes(), 50u);
  EXPECT_EQ(box.fds(), 0u);
  box.pop();
  EXPECT_TRUE(box.empty());
}

TEST(Outbox, IsBoundedInBytes) {
  Outbox box;
  ASSERT_TRUE(box.push(frame(1, limits::kOutboxBytes - 10)));
  EXPECT_TRUE(box.push(frame(2, 10)));
  EXPECT_FALSE(box.push(frame(3, 1)));
  box.clear();
  EXPECT_TRUE(box.push(frame(4, limits::kOutboxBytes)));
}

TEST(Outbox, IsBoundedInDescriptors) {
  Outbox box;
  // One descriptor for each request that may be parked, and two full frames.
  for (std::size_t i = 0; i < limits::kSessionWaits; ++i)
    ASSERT_TRUE(box.push(frame(10 + i, 1, {HandleId{1}})));
  ASSERT_TRUE(box.push(frame(1, 1, std::vector<HandleId>(limits::kFrameFds, HandleId{1}))));
  ASSERT_TRUE(box.push(frame(2, 1, std::vector<HandleId>(limits::kFrameFds - 1, HandleId{1}))));
  QueuedFrame page = frame(3, 1);
  page.owned.push_back(plain_memfd(kPage));
  EXPECT_TRUE(box.push(std::move(page)));
  EXPECT_EQ(box.fds(), limits::kOutboxFds);
  EXPECT_FALSE(box.push(frame(4, 1, {HandleId{2}})));
}

TEST(Outbox, AnAnswerWithAnEndedHandleBecomesGone) {
  Outbox box;
  ASSERT_TRUE(box.push(frame(1, 100, {HandleId{1}, HandleId{2}})));
  ASSERT_TRUE(box.push(frame(2, 100, {HandleId{3}})));
  ASSERT_TRUE(box.push(frame(3, 100)));
  const std::array<HandleId, 2> ended{HandleId{2}, HandleId{9}};
  box.drop_handles(ended, gone);
  EXPECT_EQ(box.front().request_id, 1u);
  EXPECT_EQ(box.front().bytes, gone(1));
  EXPECT_TRUE(box.front().handles.empty());
  EXPECT_EQ(box.bytes(), 203u);
  EXPECT_EQ(box.fds(), 1u);
  box.pop();
  EXPECT_EQ(box.front().handles, std::vector<OutHandle>{{HandleId{3}}});
  EXPECT_EQ(box.front().bytes.size(), 100u);
}

// Sorted handles are looked up, not searched: the nested search took seconds for these numbers.
TEST(Outbox, ManyHandlesOfManyFrames) {
  Outbox box;
  std::vector<HandleId> held, ended;
  for (std::uint64_t i = 0; i < limits::kFrameFds; ++i) held.push_back(HandleId{2 * i + 1});
  for (std::uint64_t i = 0; i < 1'000'000; ++i) ended.push_back(HandleId{2 * i});
  for (std::uint64_t i = 0; i < limits::kOutboxFds / limits::kFrameFds; ++i)
    ASSERT_TRUE(box.push(frame(i, 1, held)));
  const std::size_t fds = box.fds();
  box.drop_handles(ended, gone);
  EXPECT_EQ(box.fds(), fds);
  ended.push_back(HandleId{2'000'001});
  ASSERT_TRUE(box.push(frame(9, 1, {HandleId{2'000'001}})));
  box.drop_handles(ended, gone);
  EXPECT_EQ(box.fds(), fds);
}

}  // namespace
}  // namespace hb::test
