// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

#include "core/answer_log.h"
#include "core/deadline_queue.h"
#include "core/export_table.h"
#include "core/slot_index.h"
#include "core/slot_table.h"
#include "core/validity_slots.h"

namespace hb::test {
namespace {

using namespace core;

TEST(SlotTable, AnIdOutlivesNoEntry) {
  SlotTable<std::string, ExportId> table;
  const std::uint32_t slot = table.emplace("first");
  const ExportId id = table.id_of(slot);
  table.erase(slot);
  EXPECT_EQ(table.find(id), nullptr);
  EXPECT_EQ(table.emplace("second"), slot);
  EXPECT_EQ(table.find(id), nullptr);
  EXPECT_EQ(*table.find(table.id_of(slot)), "second");
  EXPECT_EQ(table.find(ExportId{}), nullptr);
  EXPECT_EQ(table.find(ExportId{UINT64_MAX}), nullptr);
}

TEST(SlotTable, EntriesNeverMove) {
  SlotTable<int, ExportId> table;
  const int* first = &table.at(table.emplace(1));
  for (int i = 0; i < 5000; ++i) static_cast<void>(table.emplace(i));
  EXPECT_EQ(&table.at(0), first);
}

TEST(SlotIndex, FindsWhatAMapFinds) {
  SlotIndex index;
  std::map<std::uint32_t, std::uint32_t> model;  // slot to hash
  std::mt19937 random(1);
  for (int step = 0; step < 60'000; ++step) {
    const std::uint32_t slot = static_cast<std::uint32_t>(random() % 4000);
    const std::uint32_t hash = slot * 2'654'435'761u >> (slot % 7 == 0 ? 30 : 0);
    if (const auto found = model.find(slot); found != model.end()) {
      index.erase(found->second, slot);
      model.erase(found);
    } else {
      index.insert(hash, slot);
      model[slot] = hash;
    }
    const std::uint32_t probe = static_cast<std::uint32_t>(random() % 4000);
    const std::uint32_t probe_hash = probe * 2'654'435'761u >> (probe % 7 == 0 ? 30 : 0);
    const std::uint32_t got = index.find(probe_hash, [&](std::uint32_t s) { return s == probe; });
    ASSERT_EQ(got, model.contains(probe) ? probe : kNoSlot);
  }
  EXPECT_EQ(index.size(), model.size());
}

TEST(DeadlineQueue, GivesWhatIsDueInOrderAndNothingErased) {
  DeadlineQueue queue;
  std::multimap<Time, std::uint32_t> model;
  std::map<std::uint32_t, std::pair<std::uint32_t, Time>> tickets;  // by slot
  std::mt19937 random(2);
  Time now = 0;
  for (std::uint32_t step = 0; step < 20'000; ++step) {
    if (random() % 3 != 0) {
      const Time at = now + random() % 1000;
      tickets[step] = {queue.insert(at, {Deadline::Kind::kWait, step}), at};
    } else if (!tickets.empty()) {
      const auto victim = std::next(tickets.begin(), random() % tickets.size());
      queue.erase(victim->second.first);
      tickets.erase(victim);
    }
    now += random() % 3;
    Time last = 0;
    while (const auto due = queue.pop_due(now)) {
      const auto found = tickets.find(due->slot);
      ASSERT_NE(found, tickets.end());
      ASSERT_LE(found->second.second, now);
      ASSERT_GE(found->second.second, last);
      last = found->second.second;
      tickets.erase(found);
    }
    for (const auto& [slot, entry] : tickets) ASSERT_GT(entry.second, now);
    if (step % 500 == 0) {
      ASSERT_TRUE(queue.ordered());
    }
  }
  EXPECT_EQ(queue.size(), tickets.size());
}

TEST(ValiditySlots, TheLowestFreeSlotIsFoundAcrossGroups) {
  ValiditySlots slots;
  for (std::uint32_t i = 0; i < 10'000; ++i) EXPECT_EQ(slots.take().slot, i);
  for (const std::uint32_t slot : {9999u, 5000u, 64u, 4096u}) slots.give_back(slot);
  for (const std::uint32_t slot : {64u, 4096u, 5000u, 9999u, 10'000u}) {
    EXPECT_FALSE(slots.taken(slot));
    EXPECT_EQ(slots.take().slot, slot);
    EXPECT_TRUE(slots.taken(slot));
  }
}

TEST(AnswerLog, KeepsTheLastAnswers) {
  AnswerLog log;
  for (std::uint64_t id = 1; id <= 20; ++id)
    log.remember(id * 10, 2, Exported{ExportId{id}, 1, 1, 1, true, {}, {}, {}, 0});
  EXPECT_EQ(log.find(40), nullptr);
  EXPECT_TRUE(log.forgotten(40));
  EXPECT_FALSE(log.forgotten(41));
  EXPECT_EQ(std::get<Exported>(log.find(50)->answer).id, ExportId{5});
  // It waited, and is answered long after younger ones.
  log.remember(45, 2, Error{});
  EXPECT_NE(log.find(45), nullptr);
  EXPECT_EQ(log.find(50), nullptr);
  EXPECT_TRUE(log.forgotten(50));
}

TEST(AnswerLog, IsTheSameAfterARestart) {
  AnswerLog log;
  for (std::uint64_t id = 1; id <= 20; ++id) log.remember(id, 2, Error{});
  EXPECT_EQ(log.take_changed(), 0xffffu);
  EXPECT_EQ(log.take_changed(), 0u);
  AnswerLog again;
  for (std::size_t place = 0; place < log.size(); ++place) EXPECT_TRUE(again.restore(place, log.at(place)));
  again.restore_forgotten(log.highest_forgotten());
  EXPECT_FALSE(again.restore(log.size(), log.at(0)));
  log.remember(21, 2, Error{});
  again.remember(21, 2, Error{});
  EXPECT_EQ(log.find(5), nullptr);
  EXPECT_EQ(again.find(5), nullptr);
  EXPECT_NE(again.find(6), nullptr);
}

TEST(AnswerLog, AMissingAnswerCostsNoOther) {
  AnswerLog log;
  EXPECT_TRUE(log.restore(0, {1, 2, Error{}, 1}));
  EXPECT_TRUE(log.restore(2, {3, 2, Error{}, 3}));
  EXPECT_FALSE(log.restore(0, {4, 2, Error{}, 4}));
  EXPECT_NE(log.find(3), nullptr);
  EXPECT_EQ(log.take_changed(), 2u);  // it has another place now
}

// Every pair of states against docs/lifecycle.md's table, written down a second time here.
TEST(ExportState, OnlyWhatIsInTheTableMayFollow) {
  using S = ExportState;
  const std::set<std::pair<S, S>> allowed = {
      {S::kNew, S::kLive},        {S::kNew, S::kStaging},         {S::kStaging, S::kLive},
      {S::kLive, S::kSuspended},  {S::kLive, S::kOrphaned},       {S::kLive, S::kGone},
      {S::kLive, S::kWithdrawn},  {S::kLive, S::kRevoked},        {S::kSuspended, S::kLive},
      {S::kSuspended, S::kGone},  {S::kSuspended, S::kWithdrawn}, {S::kSuspended, S::kRevoked},
      {S::kOrphaned, S::kLive},   {S::kOrphaned, S::kGone},       {S::kOrphaned, S::kWithdrawn},
      {S::kOrphaned, S::kRevoked}};
  for (const S from : kExportStates)
    for (const S to : kExportStates)
      EXPECT_EQ(may_follow(from, to), allowed.contains({from, to}))
          << state_name(from) << " to " << state_name(to);
}

TEST(ExportState, AnyOtherTransitionStopsTheProcess) {
  const auto go = [](ExportState to) {
    AccountTable accounts;
    ExportTable table(accounts, Secret{}, 10, 10);
    const std::uint32_t slot = table.create(accounts.take(ScopeId{}, 1), "a");
    table.complete(slot);
    table.set_state(slot, ExportState::kWithdrawn);
    table.set_state(slot, to);
  };
  for (const ExportState to : kExportStates) EXPECT_DEATH(go(to), "") << state_name(to);
}

}  // namespace
}  // namespace hb::test
