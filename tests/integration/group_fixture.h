// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Ranks of a group, each a process of its own with one connection.
#pragma once

#include <string>
#include <vector>

#include "integration/memory_fixture.h"

namespace hb::test {

class GroupRanks : public EveryMemory {
 protected:
  // Each with `chunks` chunks of memory whose bytes tell the rank.
  void start(std::uint32_t world, std::uint64_t chunks, std::uint64_t reserve_chunks = 0) {
    for (std::uint32_t rank = 0; rank < world; ++rank) add_rank(chunks, reserve_chunks);
  }
  Actor& add_rank(std::uint64_t chunks, std::uint64_t reserve_chunks = 0) {
    const std::size_t rank = ranks.size();
    ranks.push_back(actor());
    own.push_back(allocate(ranks.back(), rank, chunks, reserve_chunks));
    return ranks.back();
  }
  // Known bytes at an address: of host memory all of them, of a GPU's the first page of each chunk.
  static void put(Actor& actor, std::uint64_t ptr, std::uint64_t bytes, std::uint64_t seed) {
    each_part(bytes, [&](std::uint64_t at, std::uint64_t size) {
      actor.ok("fill", {{"ptr", ptr + at}, {"size", size}, {"at", at}, {"seed", seed}});
    });
  }
  static void expect_bytes(Actor& actor, std::uint64_t ptr, std::uint64_t bytes, std::uint64_t seed) {
    each_part(bytes, [&](std::uint64_t at, std::uint64_t size) {
      actor.ok("check", {{"ptr", ptr + at}, {"size", size}, {"at", at}, {"seed", seed}});
    });
  }
  template <class Use>
  static void each_part(std::uint64_t bytes, Use use) {
    if (!on_gpu()) return use(std::uint64_t{0}, bytes);
    for (std::uint64_t at = 0; at < bytes; at += unit()) use(at, kPage);
  }
  // Where it is.
  static std::uint64_t allocate(Actor& actor, std::size_t rank, std::uint64_t chunks,
                                std::uint64_t reserve_chunks) {
    const Answer made = actor.ok(
        "alloc", {{"bytes", chunks * unit()}, {"chunk", unit()}, {"reserve", reserve_chunks * unit()}});
    put(actor, made.number("ptr"), chunks * unit(), seed_of(rank));
    return made.number("ptr");
  }
  [[nodiscard]] static std::uint64_t seed_of(std::size_t rank) { return 100 + rank; }

  // What rank `rank` joins with.
  [[nodiscard]] Message join_of(std::size_t rank, const Message& more = {}) const {
    Message m = more;
    m.emplace("name", "job7/heap");
    m.emplace("rank", rank);
    m.emplace("world", ranks.size());
    if (m.count("export") == 0) m.emplace("mem", "m");
    m.emplace("timeout_ms", 20'000);
    return m;
  }
  void start_join(std::size_t rank, const Message& more = {}) {
    ranks[rank].start("group_join", join_of(rank, more));
  }
  // All at once; every one's answer.
  std::vector<Answer> all(const std::string& verb, const std::vector<Message>& arguments) {
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) ranks[rank].start(verb, arguments[rank]);
    std::vector<Answer> answers;
    for (Actor& rank : ranks) answers.push_back(rank.finish(2 * kWatchdogNs));
    return answers;
  }
  std::vector<Answer> join_all(const Message& more = {}) {
    std::vector<Message> arguments;
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) arguments.push_back(join_of(rank, more));
    return all("group_join", arguments);
  }
  void expect_joined(const std::vector<Answer>& answers) {
    for (std::size_t rank = 0; rank < answers.size(); ++rank)
      ASSERT_EQ(answers[rank].status, HB_OK) << "rank " << rank << ": " << answers[rank];
  }
  // All were refused alike, in words that name all of `parts`.
  static void expect_refused(const std::vector<Answer>& answers, hb_status status,
                             const std::vector<std::string>& parts) {
    for (const Answer& answer : answers) {
      EXPECT_EQ(answer.status, status) << answer;
      EXPECT_EQ(answer.message(), answers[0].message());
    }
    for (const std::string& part : parts)
      EXPECT_NE(answers[0].message().find(part), std::string::npos)
          << part << " in: " << answers[0].message();
  }
  static std::string pid_text(Actor& actor) { return "(pid " + std::to_string(actor.pid()) + ")"; }

  // Every rank reads every other's bytes, as its answer tells where they are.
  void expect_all_see_all(const std::vector<Answer>& answers) {
    for (std::size_t rank = 0; rank < ranks.size(); ++rank)
      for (std::size_t peer = 0; peer < ranks.size(); ++peer) {
        const std::string number = std::to_string(peer);
        SCOPED_TRACE("rank " + std::to_string(rank) + " reads " + number);
        expect_bytes(ranks[rank], answers[rank].number(number + ".ptr"),
                     answers[rank].number(number + ".bytes"), seed_of(peer));
      }
  }
  void expect_nothing_left() {
    RawPeer admin = admin_peer();
    EXPECT_TRUE(poll_until([&] {
      const auto now = admin.status().reply;
      return now.groups() == 0 && now.leases() == 0 && now.waits() == 0;
    })) << admin.status().reply.ShortDebugString();
  }
  void leave_all() {
    for (Actor& rank : ranks) rank.call("group_leave");
    expect_nothing_left();
    for (Actor& rank : ranks) rank.leave();
  }

  void TearDown() override {
    ranks.clear();  // before the census
    EveryMemory::TearDown();
  }

  std::vector<Actor> ranks;
  std::vector<std::uint64_t> own;  // where each has its memory
};

}  // namespace hb::test
