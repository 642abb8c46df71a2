// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "lease_index.h"

#include <gmock/gmock.h>

namespace hb::test {
namespace {

using client::LeaseIndex;
using client::msg::Event;
using testing::ElementsAre;
using testing::IsEmpty;

class LeaseIndexTest : public testing::Test {
 protected:
  std::vector<std::uint64_t> sort_in(std::uint64_t lease, std::uint64_t version) {
    Event event;
    event.lease_id = lease;
    event.layout_version = version;
    std::vector<Event> out;
    index.sort_in(event, out);
    return versions(out);
  }
  std::vector<std::uint64_t> settled() {
    std::vector<Event> out;
    index.take_settled(out);
    return versions(out);
  }
  static std::vector<std::uint64_t> versions(const std::vector<Event>& events) {
    std::vector<std::uint64_t> out;
    for (const Event& event : events) out.push_back(event.layout_version);
    return out;
  }
  LeaseIndex index;
  // Never looked into.
  hb_import* const imported = reinterpret_cast<hb_import*>(0x1000);
};

TEST_F(LeaseIndexTest, AnEventOfALeaseThatNobodyHoldsIsDropped) {
  EXPECT_THAT(sort_in(7, 1), IsEmpty());
  index.add(7);
  EXPECT_FALSE(index.give(7, imported));
  index.remove(7);
  EXPECT_THAT(sort_in(7, 2), IsEmpty());
  EXPECT_EQ(index.find(7).owner, LeaseIndex::Owner::kNobody);
}

TEST_F(LeaseIndexTest, AnEventWaitsUntilTheImportIsThere) {
  index.add(7);
  EXPECT_THAT(sort_in(7, 1), IsEmpty());
  EXPECT_THAT(sort_in(7, 2), IsEmpty());
  EXPECT_THAT(settled(), IsEmpty());
  EXPECT_TRUE(index.give(7, imported));
  EXPECT_THAT(settled(), ElementsAre(1, 2));
  EXPECT_THAT(settled(), IsEmpty());
  EXPECT_EQ(index.find(7).imported, imported);
}

TEST_F(LeaseIndexTest, WhatWasKeptComesBeforeWhatFollows) {
  index.add(7);
  index.add(8);
  EXPECT_THAT(sort_in(7, 1), IsEmpty());
  EXPECT_THAT(sort_in(8, 5), IsEmpty());
  index.give(7, imported);
  EXPECT_THAT(sort_in(7, 2), ElementsAre(1, 2));
  index.give_to_handles(8);
  EXPECT_THAT(sort_in(8, 6), ElementsAre(5, 6));
  EXPECT_EQ(index.find(8).owner, LeaseIndex::Owner::kHandles);
}

TEST_F(LeaseIndexTest, AnUnknownLeaseMayBeOneThatIsArriving) {
  {
    const LeaseIndex::Arrival arriving(index);
    EXPECT_THAT(sort_in(7, 1), IsEmpty());
    index.add(7);
  }
  EXPECT_TRUE(index.give(7, imported));
  EXPECT_THAT(settled(), ElementsAre(1));
  {
    const LeaseIndex::Arrival arriving(index);
    EXPECT_THAT(sort_in(9, 1), IsEmpty());
  }
  EXPECT_THAT(settled(), IsEmpty());  // it was not
  index.add(9);
  EXPECT_FALSE(index.give(9, imported));
}

TEST_F(LeaseIndexTest, AnImportThatFailedTakesItsEventsAlong) {
  index.add(7);
  EXPECT_THAT(sort_in(7, 1), IsEmpty());
  index.remove(7);
  EXPECT_THAT(settled(), IsEmpty());
}

}  // namespace
}  // namespace hb::test
