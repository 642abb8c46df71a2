// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "restart/inbox.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "os/memory_region.h"
#include "wire/frame.h"

namespace hb::test {
namespace {

// As recvmsg would: a frame of `body` bytes.
void receive(restart::Inbox& inbox, FrameType type, std::size_t body) {
  const auto buffer = inbox.buffer();
  encode_frame_header(buffer.first<kFrameHeaderBytes>(), {type, 0, 0, 0}, static_cast<std::uint32_t>(body));
  std::fill_n(buffer.begin() + kFrameHeaderBytes, body, std::byte{7});
}

TEST(Inbox, WhatWasNotCarriedOutIsThere) {
  restart::Inbox inbox;
  EXPECT_FALSE(inbox.left());
  inbox.expect(42);
  EXPECT_FALSE(inbox.left()) << "nothing has come";
  receive(inbox, FrameType::kRelease, 10);
  const auto left = inbox.left();
  ASSERT_TRUE(left);
  EXPECT_EQ(left->session, 42u);
  EXPECT_EQ(left->frame.size(), kFrameHeaderBytes + 10);
  const auto frame = decode_frame(left->frame);
  ASSERT_TRUE(frame);
  EXPECT_EQ(frame->header.type, FrameType::kRelease);
  inbox.done();
  EXPECT_FALSE(inbox.left());
}

TEST(Inbox, ThePacketBeforeIsNotTakenForTheNext) {
  restart::Inbox inbox;
  inbox.expect(1);
  receive(inbox, FrameType::kRelease, 10);
  inbox.done();
  inbox.expect(2);
  EXPECT_FALSE(inbox.left());
}

TEST(Inbox, AnotherProcessFindsIt) {
  auto memory = os::MemoryRegion::make("inbox", restart::Inbox::kBytes);
  ASSERT_TRUE(memory) << memory.error();
  UniqueFd same(::fcntl(memory->descriptor().get(), F_DUPFD_CLOEXEC, 3));
  {
    restart::Inbox inbox(std::move(*memory));
    EXPECT_EQ(inbox.buffer().size(), limits::kFrameBytes);
    inbox.expect(9);
    receive(inbox, FrameType::kLeave, limits::kFrameBytes - kFrameHeaderBytes);
  }
  auto again = os::MemoryRegion::adopt(std::move(same), restart::Inbox::kBytes);
  ASSERT_TRUE(again) << again.error();
  restart::Inbox inbox(std::move(*again));
  ASSERT_TRUE(inbox.left());
  EXPECT_EQ(inbox.left()->session, 9u);
  EXPECT_EQ(inbox.left()->frame.size(), limits::kFrameBytes);
}

TEST(Inbox, NoiseIsNothing) {
  restart::Inbox inbox;
  inbox.expect(1);
  std::fill(inbox.buffer().begin(), inbox.buffer().end(), std::byte{0xff});
  EXPECT_FALSE(inbox.left());
}

}  // namespace
}  // namespace hb::test
