// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "os/unread.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <string>
#include <vector>

#include "support/memfd.h"
#include "wire/limits_edge.h"
#include "wire/packet_socket.h"

namespace hb::test {
namespace {

struct Ends {
  UniqueFd ours, theirs;
  Ends() {
    std::array<int, 2> ends{-1, -1};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends.data()), 0);
    ours = UniqueFd(ends[0]);
    theirs = UniqueFd(ends[1]);
  }
  void plain(const std::string& bytes) const {
    EXPECT_EQ(::send(theirs.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
  }
  void with_fd() const {
    const UniqueFd memory = plain_memfd(kPage);
    const std::array<std::byte, 1> byte{};
    const std::array<int, 1> fds{memory.get()};
    EXPECT_TRUE(send_packet(theirs.get(), byte, {}, fds));
  }
};

TEST(Unread, TellsWhetherDescriptorsWouldCome) {
  Ends ends;
  EXPECT_EQ(os::first_unread(ends.ours), os::Unread::kNothing);
  ends.plain("frame");
  ends.with_fd();
  EXPECT_EQ(os::first_unread(ends.ours), os::Unread::kPlain);
  std::array<std::byte, 16> buffer{};
  ASSERT_EQ(receive_packet(ends.ours.get(), buffer)->bytes, 5u);
  EXPECT_EQ(os::first_unread(ends.ours), os::Unread::kWithFds);
  EXPECT_EQ(os::first_unread(ends.ours), os::Unread::kWithFds) << "nothing is taken";
  EXPECT_EQ(receive_packet(ends.ours.get(), buffer)->fds.size(), 1u);
  ends.theirs.reset();
  EXPECT_EQ(os::first_unread(ends.ours), os::Unread::kPlain) << "the end is to be received";
}

TEST(Unread, WhatHasNoDescriptorsInItMayBeClosed) {
  Ends nothing;
  EXPECT_TRUE(os::shut_and_empty(nothing.ours));
  EXPECT_LT(::send(nothing.theirs.get(), "x", 1, MSG_NOSIGNAL), 0) << "nothing can come any more";
  Ends gone;
  gone.plain("a");
  gone.theirs.reset();
  EXPECT_TRUE(os::shut_and_empty(gone.ours));
  Ends many;
  for (int i = 0; i < 100; ++i) many.plain(i % 3 == 0 ? "" : "packet");
  EXPECT_TRUE(os::shut_and_empty(many.ours));
  Ends reset;  // the peer closed with something of ours unread
  EXPECT_EQ(::send(reset.ours.get(), "x", 1, MSG_NOSIGNAL), 1);
  reset.plain("a");
  reset.theirs.reset();
  EXPECT_TRUE(os::shut_and_empty(reset.ours));
}

TEST(Unread, WhatHasIsNotEmptied) {
  Ends ends;
  ends.plain("");
  ends.plain("packet");
  ends.with_fd();
  EXPECT_FALSE(os::shut_and_empty(ends.ours));
  EXPECT_EQ(os::first_unread(ends.ours), os::Unread::kWithFds);
}

}  // namespace
}  // namespace hb::test
