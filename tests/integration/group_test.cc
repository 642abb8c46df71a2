// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Job S4: ranks build a symmetric heap. What they get when all goes well.
#include "integration/group_fixture.h"

namespace hb::test {
namespace {

class Groups : public GroupRanks {};
HB_EVERY_MEMORY(Groups);

TEST_P(Groups, S4_EightRanksSeeTheChunksOfAllOverOneConnectionEach) {
  const bool host = !on_gpu();
  const std::uint32_t world = host ? 8 : 4;
  const std::uint64_t chunks = host ? 64 : 3;
  start(world, chunks);
  const auto answers = join_all();
  expect_joined(answers);
  EXPECT_EQ(daemon().connections(), world);
  for (std::uint32_t rank = 0; rank < world; ++rank)
    for (std::uint32_t peer = 0; peer < world; ++peer) {
      const std::string number = std::to_string(peer);
      EXPECT_EQ(answers[rank].number(number + ".bytes"), chunks * unit());
      EXPECT_EQ(answers[rank].number(number + ".pid"), static_cast<std::uint64_t>(ranks[peer].pid()));
      EXPECT_EQ(answers[rank].number(number + ".import"), rank == peer ? 0u : 1u);
    }
  expect_all_see_all(answers);
  RawPeer admin = admin_peer();
  EXPECT_EQ(admin.status().reply.leases(), world * (world - 1));
  EXPECT_EQ(admin.status().reply.groups(), 1u);
  // It is memory, not a copy.
  put(ranks[0], own[0], unit(), 9);
  expect_bytes(ranks[1], answers[1].number("0.ptr"), unit(), 9);
  leave_all();
}

TEST_P(Groups, AnExportThatIsThereIsOfferedAndStays) {
  start(2, 2);
  for (Actor& rank : ranks) rank.ok("export", {{"mem", "m"}});
  const auto answers = join_all({{"export", "e"}});
  expect_joined(answers);
  expect_all_see_all(answers);
  for (Actor& rank : ranks) rank.ok("group_leave");
  expect_nothing_left();
  EXPECT_EQ(admin_peer().status().reply.exports(), 2u);
}

TEST_P(Groups, EachRankMapsTheOthersWhereItWishes) {
  start(3, 1);
  const std::uint64_t at = 0x7e90'0000'0000;
  const std::string bases = std::to_string(at) + " " + std::to_string(at + 64 * unit()) + " 0";
  const auto answers = join_all({{"bases", bases}});
  expect_joined(answers);
  EXPECT_EQ(answers[2].number("0.ptr"), at);
  EXPECT_EQ(answers[2].number("1.ptr"), at + 64 * unit());
  expect_all_see_all(answers);
  leave_all();
}

TEST_P(Groups, S4_AFlatHeapIsOneRowWithThisRankInIt) {
  start(4, 2);
  const auto answers = join_all({{"flat", 1}, {"stride", 32 * unit()}});
  expect_joined(answers);
  for (const Answer& answer : answers)
    for (int rank = 1; rank < 4; ++rank)
      EXPECT_EQ(answer.number(std::to_string(rank) + ".ptr"), answer.number("0.ptr") + rank * 32 * unit());
  expect_all_see_all(answers);
  // The own slot is the own memory.
  put(ranks[1], answers[1].number("1.ptr"), 2 * unit(), 77);
  expect_bytes(ranks[1], own[1], 2 * unit(), 77);
  expect_bytes(ranks[3], answers[3].number("1.ptr"), 2 * unit(), 77);
  leave_all();
}

TEST_P(Groups, AFlatHeapIsAsWideAsTheLargestRankAndBeginsWhereItIsWished) {
  ranks.push_back(actor());
  allocate(ranks[0], 0, 1, 0);
  ranks.push_back(actor());
  allocate(ranks[1], 1, 5, 0);
  const std::uint64_t at = 0x7e90'0000'0000;
  const auto answers = join_all({{"flat", 1}, {"base", at}, {"any_layout", 1}});
  expect_joined(answers);
  for (const Answer& answer : answers) {
    EXPECT_EQ(answer.number("0.ptr"), at);
    EXPECT_GE(answer.number("1.ptr"), at + 5 * unit());
    EXPECT_LE(answer.number("1.ptr"), at + 32 * unit());
  }
  expect_all_see_all(answers);
  leave_all();
}

TEST_P(Groups, S4_AppendedChunksAreVisibleAtTheSameOffsetOnAll) {
  start(3, 1, 4);
  for (const bool flat : {false, true}) {
    Message more{{"max", 4 * unit()}};
    if (flat) more.emplace("flat", 1);
    const auto joined = join_all(more);
    expect_joined(joined);
    const std::uint64_t had = joined[0].number("1.bytes");
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
      const Answer now = ranks[rank].ok("grow_memory", {{"bytes", unit()}});
      put(ranks[rank], now.number("ptr"), now.number("bytes"), seed_of(rank));
    }
    const auto grown =
        all("group_append", std::vector<Message>(3, {{"mem", "m"}, {"offset", had}, {"timeout_ms", 20'000}}));
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
      ASSERT_EQ(grown[rank].status, HB_OK) << grown[rank];
      for (int peer = 0; peer < 3; ++peer) {
        const std::string number = std::to_string(peer);
        EXPECT_EQ(grown[rank].number(number + ".ptr"), joined[rank].number(number + ".ptr"));
        EXPECT_EQ(grown[rank].number(number + ".bytes"), had + unit());
      }
    }
    expect_all_see_all(grown);
    for (Actor& rank : ranks) rank.ok("group_leave");
    expect_nothing_left();
  }
  for (Actor& rank : ranks) rank.leave();
}

}  // namespace
}  // namespace hb::test
