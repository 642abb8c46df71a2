// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// What the next daemon finds when not all is there: an entry of the store lost, the same twice, descriptors
// that its records do not know.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "os/activation.h"
#include "os/notify_socket.h"
#include "support/role.h"
#include "unit/daemon/restart/parking_world.h"

namespace hb::test {
namespace {

const auto kAll = [](const ParkedEntry&) { return true; };

// Field report B07: systemd hands the stored descriptors over in any order, and drops some.
TEST_F(ParkingTest, B07_OneEndOfAQueueIsLostAndAllElseIsRestored) {
  Parking parking(store_, {10'000}, holder_.lookup());
  for (std::uint64_t id = 0; id < 1000; id += 100) ASSERT_TRUE(parking.park(holder_.make(id, 100)));
  ASSERT_EQ(parking.queues(), 5u);
  {
    // Its holding end: what is in it is gone with it.
    auto stored = handed_over(manager_);
    stored.erase("q2b");
    NextDaemon next(std::move(stored));
    EXPECT_TRUE(next.each_is_its_own());
    EXPECT_EQ(next.ids.size(), 800u);
    ASSERT_EQ(next.back.lines.size(), 1u);
    EXPECT_NE(next.back.lines[0].find("\"q2b\" is not in the descriptor store any more"), std::string::npos);
    ASSERT_TRUE(next.store.barrier(kWatchdogNs));
  }
  const auto names = manager_.stored_names();
  EXPECT_EQ(std::count(names.begin(), names.end(), "q2a"), 0) << "the other end is of no use";
}

TEST_F(ParkingTest, WithoutItsSendingEndAQueueMovesToAnother) {
  Parking parking(store_, {10'000}, holder_.lookup());
  for (std::uint64_t id = 0; id < 500; id += 100) ASSERT_TRUE(parking.park(holder_.make(id, 100)));
  ASSERT_EQ(manager_.lose("q1a"), 1u);
  NextDaemon next(manager_);
  EXPECT_TRUE(next.each_is_its_own());
  EXPECT_EQ(next.ids.size(), 500u);
  EXPECT_TRUE(next.parking.drop_unknown(kAll).empty());
  EXPECT_EQ(next.parking.in_flight(), 500u);
  ASSERT_TRUE(next.store.barrier(kWatchdogNs));
  const auto names = manager_.stored_names();
  EXPECT_EQ(std::count(names.begin(), names.end(), "q1b"), 0) << "or it was made anew";
  EXPECT_EQ(NextDaemon(manager_).ids.size(), 500u);
}

TEST_F(ParkingTest, TheSameTwiceInTheStoreIsOneQueue) {
  Parking parking(store_, {10'000}, holder_.lookup());
  ASSERT_TRUE(parking.park(holder_.make(1, 5)));
  auto stored = handed_over(manager_);
  stored["q0a"].push_back(manager_.copy_of("q0a"));
  stored["q0b"].push_back(manager_.copy_of("q0b"));
  stored["node"].push_back(numbered(1));
  NextDaemon next(std::move(stored));
  EXPECT_TRUE(next.each_is_its_own());
  EXPECT_EQ(next.ids.size(), 5u);
  EXPECT_EQ(next.back.lines.size(), 2u);
  EXPECT_EQ(next.store.entries(), 4u);
}

// A rewriting that did not come to its end: before the old message was taken out, and elsewhere too.
TEST_F(ParkingTest, CopiesOfARewritingAreOneAndArePutTogether) {
  Parking parking(store_, {10'000}, holder_.lookup());
  const auto five = holder_.make(1, 5);
  ASSERT_TRUE(parking.park(five));
  ASSERT_TRUE(parking.park(holder_.make(100, 250)));
  const UniqueFd first = manager_.copy_of("q0a");
  const UniqueFd second = manager_.copy_of("q1a");
  for (const UniqueFd* end : {&second, &first, &second}) {
    restart::ParkingQueue by_hand(end->duplicate(), UniqueFd());
    ASSERT_TRUE(by_hand.send(std::span(five).subspan(1, 3)));
  }
  NextDaemon next(manager_);
  EXPECT_TRUE(next.each_is_its_own());
  EXPECT_EQ(next.ids.size(), 255u);
  EXPECT_EQ(next.parking.in_flight(), 264u);
  EXPECT_TRUE(next.parking.drop_unknown(kAll).empty());
  EXPECT_EQ(next.parking.in_flight(), 255u);
  EXPECT_TRUE(next.parking.unpark(entries({2})).empty());
  NextDaemon last(manager_);
  EXPECT_TRUE(last.each_is_its_own());
  EXPECT_EQ(last.ids.size(), 254u);
  EXPECT_EQ(last.ids.count(2), 0u);
}

// Without drop_unknown(): what is there twice is taken out twice.
TEST_F(ParkingTest, ACopyDoesNotOutliveUnpark) {
  Parking parking(store_, {10'000}, holder_.lookup());
  const auto five = holder_.make(1, 5);
  ASSERT_TRUE(parking.park(five));
  restart::ParkingQueue by_hand(manager_.copy_of("q0a"), UniqueFd());
  ASSERT_TRUE(by_hand.send(five));
  NextDaemon next(manager_);
  EXPECT_TRUE(next.parking.unpark(entries({1, 3})).empty());
  EXPECT_EQ(NextDaemon(manager_).ids, (std::set<std::uint64_t>{2, 4, 5}));
}

TEST_F(ParkingTest, WhatTheRecordsDoNotKnowIsClosed) {
  Parking parking(store_, {10'000}, holder_.lookup());
  ASSERT_TRUE(parking.park(holder_.make(1, 200)));
  // Of a later version, or of an id that was used before.
  const ToPark strange[2]{{{static_cast<ParkedKind>(77), 1, 0}, holder_.lookup()(handle(1))},
                          {{ParkedKind::kHandle, 1, 12'345}, holder_.lookup()(handle(1))}};
  ASSERT_TRUE(parking.park(strange));
  NextDaemon next(manager_);
  EXPECT_EQ(next.back.entries.size(), 202u);
  EXPECT_TRUE(
      next.parking.drop_unknown([](const ParkedEntry& e) { return e == handle(e.id) && e.id % 2 == 0; })
          .empty());
  EXPECT_EQ(next.parking.in_flight(), 100u);
  NextDaemon last(manager_);
  EXPECT_TRUE(last.each_is_its_own());
  EXPECT_EQ(last.ids.size(), 100u);
}

TEST_F(ParkingTest, MessagesOfSomebodyElseAreToldAndTakenOut) {
  Parking parking(store_, {10'000}, holder_.lookup());
  ASSERT_TRUE(parking.park(holder_.make(1, 2)));
  const UniqueFd end = manager_.copy_of("q0a");
  ASSERT_EQ(::send(end.get(), "what?", 5, 0), 5);
  ASSERT_TRUE(parking.park(holder_.make(3, 2)));
  {
    NextDaemon next(manager_);
    EXPECT_EQ(next.ids.size(), 4u);
    ASSERT_EQ(next.back.lines.size(), 1u);
    EXPECT_NE(next.back.lines[0].find("1 messages are none of this program's"), std::string::npos);
    EXPECT_TRUE(next.parking.drop_unknown(kAll).empty());
  }
  EXPECT_TRUE(NextDaemon(manager_).back.lines.empty());
  // Larger than any: reading stops there, and says so.
  const std::string large(6000, 'x');
  ASSERT_EQ(::send(end.get(), large.data(), large.size(), 0), 6000);
  NextDaemon next(manager_);
  EXPECT_EQ(next.ids.size(), 4u);
  ASSERT_EQ(next.back.lines.size(), 1u);
  EXPECT_TRUE(next.parking.drop_unknown(kAll).empty());
  EXPECT_EQ(next.parking.in_flight(), 4u);
  ASSERT_TRUE(next.store.barrier(kWatchdogNs));
  NextDaemon last(manager_);
  EXPECT_TRUE(last.back.lines.empty());
  EXPECT_EQ(last.ids.size(), 4u);
}

TEST_F(ParkingTest, WithoutRoomForDescriptorsThoseThatFitComeBackAndTheOthersAreNamed) {
  Parking parking(store_, {10'000}, holder_.lookup());
  ASSERT_TRUE(parking.park(holder_.make(1, 20)));
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  {
    auto stored = handed_over(manager_);
    const UniqueFd next_free(::dup(0));
    const rlimit small{static_cast<rlim_t>(next_free.get()) + 8, before.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &small), 0);
    NextDaemon next(std::move(stored));
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
    EXPECT_TRUE(next.each_is_its_own());
    EXPECT_GT(next.ids.size(), 0u);
    EXPECT_EQ(next.ids.size() + next.back.lost.size(), 20u);
    ASSERT_EQ(next.back.lines.size(), 1u);
    EXPECT_NE(next.back.lines[0].find("raise LimitNOFILE="), std::string::npos) << next.back.lines[0];
  }
  EXPECT_EQ(NextDaemon(manager_).ids.size(), 20u) << "they are in the queue still";
}

TEST(ParkingNames, OnlyThoseOfQueues) {
  for (const char* name : {"q0a", "q0b", "q31a", "q63b"}) EXPECT_TRUE(Parking::is_queue_name(name)) << name;
  for (const char* name :
       {"", "q", "qa", "q0", "q0c", "q64a", "q00a", "q-1a", "q1 a", "node", "Q0a", "q0ab"}) {
    EXPECT_FALSE(Parking::is_queue_name(name)) << name;
  }
}

// A program as PID 1 starts it: what it parked is there when it is started again, whatever the order.
HB_ROLE(parking_daemon) {
  auto inherited = os::take_inherited([](std::string_view name) { return Parking::is_queue_name(name); });
  if (!inherited) return 2;
  os::DescriptorStore store = os::DescriptorStore::of_environment();
  Holder holder;
  Parking parking(store, {10'000}, holder.lookup());
  const Parking::Back back = parking.restore(inherited->stored);
  if (back.entries.empty()) {
    for (std::uint64_t id = 0; id < 1000; id += 50) {
      if (!parking.park(holder.make(id, 50))) return 3;
    }
  }
  std::size_t right = 0;
  for (const restart::Restored& one : back.entries) right += number_in(one.fd) == one.entry.id ? 1 : 0;
  const std::string text = "STATUS=" + std::to_string(right) + " of " + std::to_string(back.entries.size()) +
                           (inherited->broker ? " broker" : "") + " surplus " +
                           std::to_string(inherited->surplus.size()) + " lines " +
                           std::to_string(back.lines.size());
  static_cast<void>(store.barrier(kWatchdogNs));
  static_cast<void>(os::notify_send(text));
  ::pause();
  return 0;
}

TEST_F(ParkingTest, B07_StartedAgainInAnyOrder) {
  manager_.listen("broker", dir_ / "broker.sock");
  manager_.hand_over("unknown", numbered(5));
  manager_.start({own_program(), "--role=parking_daemon"});
  ASSERT_TRUE(manager_.wait_for("STATUS=0 of 0 broker surplus 1 lines 0"));
  for (std::uint32_t seed = 1; seed <= 5; ++seed) {
    manager_.shuffle(seed);
    manager_.restart();
    ASSERT_TRUE(manager_.wait_for("STATUS=1000 of 1000 broker surplus 1 lines 0")) << seed;
  }
  ASSERT_EQ(manager_.lose("q3b"), 1u);
  manager_.restart();
  ASSERT_TRUE(manager_.wait_for("STATUS=750 of 750 broker surplus 1 lines 1"));
}

}  // namespace
}  // namespace hb::test
