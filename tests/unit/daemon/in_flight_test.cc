// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// The ledger over real sockets: what the kernel says was read, and whose share is used up.
#include "ipc/in_flight.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <cstddef>
#include <memory>

#include "support/memfd.h"
#include "support/wait.h"
#include "wire/limits_edge.h"
#include "wire/packet_socket.h"

namespace hb::test {
namespace {

struct Pair {
  UniqueFd ours, theirs;
  int retries = 0;
  std::unique_ptr<ipc::InFlight::Line> line;

  explicit Pair(std::uint32_t uid, std::function<void()> retry = nullptr) {
    std::array<int, 2> ends{-1, -1};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends.data()), 0);
    ours = UniqueFd(ends[0]);
    theirs = UniqueFd(ends[1]);
    line = std::make_unique<ipc::InFlight::Line>(
        ipc::Payer{{}, uid}, retry ? std::move(retry) : [this] { ++retries; });
    line->open(ours);
  }
  void send(std::size_t fds) {
    const std::array<std::byte, 1> byte{};
    const UniqueFd memory = plain_memfd(kPage);
    const auto sent = send_packet(ours.get(), byte, {}, std::vector<int>(fds, memory.get()));
    ASSERT_TRUE(sent && *sent == SendOutcome::kSent);
  }
  void read_one() {
    std::array<std::byte, 16> buffer{};
    const auto got = receive_packet(theirs.get(), buffer);
    ASSERT_TRUE(got && got->outcome == ReceiveOutcome::kPacket);
  }
};

class InFlightTest : public testing::Test {
 protected:
  static constexpr std::uint64_t kLimit = 400;  // a budget of 350
  template <class Condition>
  bool run_until(Condition condition) {
    return poll_until([&] {
      io_.restart();
      io_.poll();
      return condition();
    });
  }
  bool send(Pair& pair, std::size_t fds) {
    if (!ledger_.admit(*pair.line, fds)) return false;
    pair.send(fds);
    return true;
  }
  void over(Pair& pair) {
    pair.theirs.reset();
    bool closed = false;
    ledger_.end(*pair.line, std::move(pair.ours), [&](UniqueFd) { closed = true; });
    EXPECT_TRUE(closed) << "nothing is unread once the peer has closed";
  }
  boost::asio::io_context io_{1};
  ipc::InFlight ledger_{io_, kLimit};
};

TEST_F(InFlightTest, WhatWasReadIsForgotten) {
  EXPECT_EQ(ledger_.budget(), limits::in_flight_budget(kLimit));
  Pair one(1001);
  EXPECT_TRUE(ledger_.admit(*one.line, 0));
  ASSERT_TRUE(send(one, 50));
  ASSERT_TRUE(send(one, 30));
  EXPECT_EQ(ledger_.unread(), 80u);
  one.read_one();
  EXPECT_FALSE(ledger_.all_read(*one.line));
  EXPECT_EQ(ledger_.unread(), 80u) << "the kernel tells only when all was read";
  one.read_one();
  EXPECT_TRUE(ledger_.all_read(*one.line));
  EXPECT_EQ(ledger_.unread(), 0u);
  ASSERT_TRUE(ledger_.admit(*one.line, 7));
  ledger_.give_back(*one.line, 7);
  EXPECT_EQ(ledger_.unread(), 0u);
  over(one);
}

TEST_F(InFlightTest, ADeafUidLeavesRoomForTheOthers) {
  Pair first(2001), second(2001), third(2002), fourth(2003);
  while (send(first, 10)) {
  }
  EXPECT_GT(first.line->unread(), 40u);
  while (send(second, 10)) {
  }
  EXPECT_GT(second.line->unread(), 0u) << "a session has no more than half of its uid's share";
  const std::uint64_t of_first_uid = ledger_.unread();
  EXPECT_LE(of_first_uid, ledger_.budget() / 2);
  EXPECT_EQ(ledger_.largest(), (std::pair<ipc::Payer, std::uint64_t>{{{}, 2001}, of_first_uid}));
  while (send(third, 10)) {
  }
  EXPECT_GT(third.line->unread(), 20u);
  ASSERT_TRUE(send(fourth, 60)) << "one frame always, as long as it fits at all";
  EXPECT_FALSE(send(fourth, 1));
  EXPECT_LE(ledger_.unread(), ledger_.budget());
  for (Pair* pair : {&first, &second, &third, &fourth}) over(*pair);
  EXPECT_EQ(ledger_.unread(), 0u);
}

TEST_F(InFlightTest, AFrameLargerThanTheBudgetGoesAlone) {
  ipc::InFlight small(io_, 64);
  Pair one(2001), other(2002);
  ASSERT_TRUE(small.admit(*one.line, 100));
  one.send(100);
  EXPECT_FALSE(small.admit(*other.line, 1));
  one.read_one();
  EXPECT_TRUE(small.admit(*other.line, 100)) << "the oldest are looked at before it is refused";
  small.give_back(*other.line, 100);
}

TEST_F(InFlightTest, WhoWaitsIsTriedAgainUntilItFits) {
  Pair deaf(2001);
  int tries = 0;
  bool sent = false;
  Pair good(2002, [&] {
    ++tries;
    sent = send(good, 200);
    if (!sent) ledger_.wait(*good.line);
  });
  ASSERT_TRUE(send(deaf, 200));
  ASSERT_FALSE(send(good, 200));
  ledger_.wait(*good.line);
  ledger_.wait(*good.line);
  EXPECT_EQ(ledger_.waiting(), 1u);
  ASSERT_TRUE(run_until([&] { return tries == 4; }));
  EXPECT_FALSE(sent);
  deaf.read_one();
  ASSERT_TRUE(run_until([&] { return sent; }));
  EXPECT_EQ(ledger_.waiting(), 0u);
  EXPECT_FALSE(good.line->waits());
  over(good);
  over(deaf);
}

// What is parked in sockets of the daemon's own takes part.
TEST_F(InFlightTest, ParkedDescriptorsShareTheBudget) {
  Pair one(2001), other(2002);
  ledger_.set_parked(ledger_.budget() - 20);
  ASSERT_TRUE(send(one, 15));
  EXPECT_FALSE(send(other, 15));
  ledger_.set_parked(0);
  EXPECT_TRUE(send(other, 15));
  over(one);
  over(other);
}

// A peer that is disconnected keeps what it has not read: its socket stays, and its charge.
TEST_F(InFlightTest, TheSocketOfAnEndedSessionIsKeptUntilAllIsRead) {
  Pair one(2001), two(2001);
  ASSERT_TRUE(send(one, 30));
  ASSERT_TRUE(send(two, 30));
  int closed = 0;
  for (Pair* pair : {&one, &two}) {
    ::shutdown(pair->ours.get(), SHUT_RDWR);
    ledger_.end(*pair->line, std::move(pair->ours), [&](UniqueFd socket) {
      EXPECT_TRUE(socket);
      ++closed;
    });
    pair->line.reset();
  }
  EXPECT_EQ(closed, 0);
  EXPECT_EQ(ledger_.kept(), 2u);
  EXPECT_EQ(ledger_.unread(), 60u);
  one.read_one();
  ASSERT_TRUE(run_until([&] { return closed == 1; }));
  EXPECT_EQ(ledger_.unread(), 30u);
  two.theirs.reset();
  ASSERT_TRUE(run_until([&] { return closed == 2; }));
  EXPECT_EQ(ledger_.kept(), 0u);
  EXPECT_EQ(ledger_.unread(), 0u);
}

}  // namespace
}  // namespace hb::test
