// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "restart/parking.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include "os/notify_socket.h"
#include "unit/daemon/restart/parking_world.h"

namespace hb::test {
namespace {

TEST_F(ParkingTest, WhatIsParkedComesBackAndTheQueuesStayAsTheyAre) {
  Parking parking(store_, {10'000}, holder_.lookup());
  ASSERT_TRUE(parking.park(holder_.make(1, 3)));
  ASSERT_TRUE(parking.park(holder_.make(10, 2)));
  EXPECT_EQ(parking.in_flight(), 5u);
  EXPECT_EQ(parking.queues(), 1u);
  EXPECT_EQ(manager_.stored_names(), (std::vector<std::string>{"q0a", "q0b"}));
  EXPECT_EQ(manager_.behind_barrier(), 0u) << "the manager took the queue before anything was parked";
  for (int round = 0; round < 2; ++round) {
    NextDaemon next(manager_);
    EXPECT_TRUE(next.each_is_its_own());
    EXPECT_EQ(next.ids, (std::set<std::uint64_t>{1, 2, 3, 10, 11}));
    EXPECT_EQ(next.back.entries.front().entry, handle(1)) << "kind and check too";
    EXPECT_TRUE(next.back.lost.empty() && next.back.lines.empty());
    EXPECT_EQ(next.parking.in_flight(), 5u);
    EXPECT_TRUE(next.parking.is_parked(handle(11)));
  }
}

TEST_F(ParkingTest, WhatIsTakenOutIsClosedAndTheRestStays) {
  Parking parking(store_, {10'000}, holder_.lookup());
  ASSERT_TRUE(parking.park(holder_.make(1, 100)));
  int pair[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
  const UniqueFd here(pair[0]);
  holder_.own(500, UniqueFd(pair[1]));
  const ToPark session{{ParkedKind::kSessionSocket, 500, 1}, holder_.lookup()(handle(500))};
  ASSERT_TRUE(parking.park({&session, 1}));
  ASSERT_TRUE(parking.park(holder_.make(200, 50)));
  holder_.drop(500);
  char byte = 0;
  EXPECT_LT(::recv(here.get(), &byte, 1, MSG_DONTWAIT), 0) << "the parked copy holds it open";
  const std::vector<ParkedEntry> out{handle(7), session.entry, handle(210)};
  EXPECT_TRUE(parking.unpark(out).empty());
  EXPECT_EQ(::recv(here.get(), &byte, 1, MSG_DONTWAIT), 0) << "no queue refers to it when unpark returns";
  EXPECT_EQ(parking.in_flight(), 148u);
  NextDaemon next(manager_);
  EXPECT_TRUE(next.each_is_its_own());
  EXPECT_EQ(next.ids.size(), 148u);
  EXPECT_EQ(next.ids.count(7) + next.ids.count(500) + next.ids.count(210), 0u);
}

TEST_F(ParkingTest, TwiceIsOnceAndOutTwiceIsNoTrouble) {
  Parking parking(store_, {10'000}, holder_.lookup());
  const auto three = holder_.make(1, 3);
  ASSERT_TRUE(parking.park(three));
  ASSERT_TRUE(parking.park(three));
  ASSERT_TRUE(parking.park({}));
  EXPECT_EQ(parking.in_flight(), 3u);
  EXPECT_TRUE(parking.unpark(entries({2, 99})).empty());
  EXPECT_TRUE(parking.unpark(entries({2})).empty());
  EXPECT_EQ(parking.in_flight(), 2u);
  EXPECT_FALSE(parking.is_parked(handle(2)));
}

// A queue takes 278 small messages: they are put together before that.
TEST_F(ParkingTest, OneByOneFarMoreThanAQueueHasMessages) {
  Parking::Options options{10'000};
  options.queues = 1;
  Parking parking(store_, options, holder_.lookup());
  for (std::uint64_t id = 1; id <= 1000; ++id) {
    const auto parked = parking.park(holder_.make(id, 1));
    ASSERT_TRUE(parked) << id << ": " << parked.error();
  }
  NextDaemon next(manager_);
  EXPECT_TRUE(next.each_is_its_own());
  EXPECT_EQ(next.ids, holder_.ids());
}

TEST_F(ParkingTest, ManyOneByOneAreOneQueue) {
  Parking parking(store_, {10'000}, holder_.lookup());
  for (std::uint64_t id = 1; id <= 3000; ++id) {
    const auto parked = parking.park(holder_.make(id, 1));
    ASSERT_TRUE(parked) << id << ": " << parked.error();
    if (id > 20) {
      ASSERT_TRUE(parking.unpark(entries({id - 20})).empty());
      holder_.drop(id - 20);
    }
  }
  EXPECT_EQ(parking.queues(), 1u);
  EXPECT_EQ(parking.in_flight(), 20u);
  NextDaemon next(manager_);
  EXPECT_TRUE(next.each_is_its_own());
  EXPECT_EQ(next.ids, holder_.ids());
}

TEST_F(ParkingTest, ARemovalRewritesNoMoreThanOneMessage) {
  std::size_t sent = 0, received = 0;
  Parking::Options options{20'000};
  options.step = [&](const char* call) {
    sent += std::string_view(call) == "sendmsg";
    received += std::string_view(call) == "recvmsg";
  };
  Parking parking(store_, options, holder_.lookup());
  for (std::uint64_t id = 0; id < 3000; id += 10) ASSERT_TRUE(parking.park(holder_.make(id, 10)));
  EXPECT_EQ(parking.queues(), 12u);
  sent = received = 0;
  ASSERT_TRUE(parking.unpark(entries({1500, 1501, 1502})).empty());
  EXPECT_EQ(sent, 1u);
  EXPECT_LE(received, 26u);
  EXPECT_EQ(parking.in_flight(), 2997u);
}

TEST_F(ParkingTest, AnEndOfAQueueIsNotParked) {
  Parking parking(store_, {10'000}, holder_.lookup());
  ASSERT_TRUE(parking.park(holder_.make(1, 1)));
  bool refused = false;
  for (int fd = 3; fd < 64; ++fd) {
    const ToPark one{handle(1000 + static_cast<std::uint64_t>(fd)), BorrowedFd::of_caller(fd)};
    const auto parked = parking.park({&one, 1});
    if (!parked && parked.error().find("an end of a parking queue") != std::string::npos) refused = true;
    if (parked) {
      ASSERT_TRUE(parking.unpark({&one.entry, 1}).empty());
    }
  }
  EXPECT_TRUE(refused);
  EXPECT_EQ(parking.in_flight(), 1u);
}

TEST_F(ParkingTest, ADescriptorThatIsNoneParksNothing) {
  Parking parking(store_, {10'000}, holder_.lookup());
  auto some = holder_.make(1, 600);
  some.push_back({handle(601), BorrowedFd()});
  const auto refused = parking.park(some);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().find("EBADF"), std::string::npos) << refused.error();
  EXPECT_EQ(parking.in_flight(), 0u);
  EXPECT_TRUE(NextDaemon(manager_).ids.empty());
}

TEST_F(ParkingTest, WithoutAStoreItSaysWhy) {
  os::DescriptorStore none;
  Parking parking(none, {10'000}, holder_.lookup());
  const auto refused = parking.park(holder_.make(1, 1));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error(), "no descriptor store");
}

// PID 1 is busy for as long as it likes: the daemon is not.
TEST_F(ParkingTest, AManagerThatDoesNotAnswerIsAReasonAndNotAHang) {
  Parking::Options options{10'000};
  options.store_wait_ns = 20'000'000;
  Parking parking(store_, options, holder_.lookup());
  manager_.set_busy(true);
  const auto refused = parking.park(holder_.make(1, 1));
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().find("within 20 ms"), std::string::npos) << refused.error();
  EXPECT_EQ(parking.queues(), 0u);
  manager_.set_busy(false);
  ASSERT_TRUE(parking.park(holder_.make(1, 1)));
  EXPECT_EQ(manager_.stored_names(), (std::vector<std::string>{"q0a", "q0b"}));
  EXPECT_EQ(NextDaemon(manager_).ids, (std::set<std::uint64_t>{1}));
}

// Its names may still come into the store, long after: others are taken.
TEST_F(ParkingTest, AManagerThatTakesNothingAtAllSpoilsANumber) {
  Parking parking(store_, {10'000}, holder_.lookup());
  manager_.set_busy(true);
  while (os::notify_send("STATUS=x", {}, 1'000'000)) {
  }
  EXPECT_FALSE(parking.park(holder_.make(1, 1)));
  manager_.set_busy(false);
  ASSERT_TRUE(parking.park(holder_.make(1, 1)));
  EXPECT_EQ(manager_.stored_names(), (std::vector<std::string>{"q1a", "q1b"}));
  EXPECT_EQ(NextDaemon(manager_).ids, (std::set<std::uint64_t>{1}));
}

TEST_F(ParkingTest, WithAllQueuesFullItSaysSoAndStillTakesOut) {
  Parking::Options options{100'000};
  options.queues = 1;
  const UniqueFd file = numbered(1);
  Parking parking(store_, options, [&file](const ParkedEntry&) { return BorrowedFd(file); });
  std::uint64_t id = 1;
  std::string refusal;
  while (refusal.empty()) {
    std::vector<ToPark> some;
    for (std::uint64_t i = 0; i < 500; ++i) some.push_back({handle(id + i), file});
    const auto parked = parking.park(some);
    if (parked) id += 500;
    if (!parked) refusal = parked.error();
  }
  EXPECT_NE(refusal.find("EAGAIN"), std::string::npos) << refusal;
  EXPECT_NE(refusal.find("parking queue 0: "), std::string::npos) << refusal;
  EXPECT_GT(id, 5000u);
  EXPECT_EQ(parking.in_flight(), id - 1) << "all of the refused call or none";
  std::uint64_t out = 0;
  for (std::uint64_t one = 100; one < id; one += 1000, ++out) {
    EXPECT_TRUE(parking.unpark(entries({one})).empty());
  }
  EXPECT_EQ(parking.in_flight(), id - 1 - out);
}

TEST_F(ParkingTest, TenThousand) {
  Parking parking(store_, {15'000}, holder_.lookup());
  std::vector<ToPark> all;
  for (std::uint64_t id = 1; id <= 100; ++id) {
    const auto some = holder_.make(id, 1);
    all.insert(all.end(), some.begin(), some.end());
  }
  for (std::uint64_t id = 101; id <= 10'000; ++id) {
    all.push_back({handle(id), holder_.lookup()(handle(id % 100 + 1))});
  }
  const auto parked = parking.park(all);
  ASSERT_TRUE(parked) << parked.error();
  EXPECT_EQ(parking.in_flight(), 10'000u);
  EXPECT_LE(manager_.stored(), 64u);
  std::map<std::string, std::vector<UniqueFd>> stored = handed_over(manager_);
  os::DescriptorStore other = os::DescriptorStore::of_environment();
  Parking next(other, {15'000}, {});
  Parking::Back back = next.restore(stored);
  EXPECT_EQ(back.entries.size(), 10'000u);
  for (const restart::Restored& one : back.entries) {
    const std::uint64_t want = one.entry.id <= 100 ? one.entry.id : one.entry.id % 100 + 1;
    ASSERT_EQ(number_in(one.fd), want);
  }
}

}  // namespace
}  // namespace hb::test
