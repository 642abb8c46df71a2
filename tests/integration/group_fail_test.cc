// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Job S4 and report B19: what all ranks are told when one of them is wrong, late or dead, and that nothing is
// left of it.
#include "integration/group_fixture.h"

namespace hb::test {
namespace {

class GroupFailures : public GroupRanks {
 protected:
  // Until so many ranks wait for the others.
  void wait_for_ranks(std::uint64_t count) {
    RawPeer admin = admin_peer();
    ASSERT_TRUE(poll_until([&] { return admin.status().reply.waits() == count; }));
  }
};
HB_EVERY_MEMORY(GroupFailures);

TEST_P(GroupFailures, B19_TheRankOfAnotherSizeIsNamedToAllAndNobodyGetsAnything) {
  const std::uint64_t usual = on_gpu() ? 2 * unit() : std::uint64_t{1} << 30;
  for (int rank = 0; rank < 8; ++rank) {
    ranks.push_back(actor());
    ranks.back().ok("alloc", {{"bytes", rank == 5 ? usual / 2 : usual}});
  }
  const auto answers = join_all();
  expect_refused(answers, HB_MISMATCH,
                 {"rank 5 " + pid_text(ranks[5]), std::to_string(usual), std::to_string(usual / 2)});
  EXPECT_EQ(answers[0].number("used"), usual / 2);
  EXPECT_EQ(answers[0].number("limit"), usual);
  expect_nothing_left();
  EXPECT_EQ(admin_peer().status().reply.exports(), 0u);
  // At once again, all alike.
  ranks[5].ok("alloc", {{"bytes", usual}, {"mem", "right"}});
  std::vector<Message> arguments;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank)
    arguments.push_back(join_of(rank, rank == 5 ? Message{{"mem", "right"}} : Message{}));
  expect_joined(all("group_join", arguments));
  leave_all();
}

TEST_P(GroupFailures, B19_SevenOfEightAreToldWhoIsMissingAtTheDeadline) {
  start(8, 1);
  std::vector<Answer> answers;
  for (std::size_t rank = 0; rank < 8; ++rank)
    if (rank != 3 && rank != 6) start_join(rank);
  wait_for_ranks(6);
  ranks[6].ok("export", {{"mem", "m"}});  // so that its deadline is the join's alone
  start_join(6, {{"export", "e"}, {"timeout_ms", 1000}});
  for (std::size_t rank = 0; rank < 8; ++rank)
    if (rank != 3) answers.push_back(ranks[rank].finish());
  expect_refused(answers, HB_TIMEOUT, {"7 of 8 ranks came before the deadline", "missing: rank 3"});
  expect_nothing_left();
}

TEST_P(GroupFailures, S4_ARankKilledWhileItWaitsIsNamedAndTheReRunWorks) {
  start(4, 2);
  for (std::size_t rank = 0; rank < 3; ++rank) start_join(rank);
  wait_for_ranks(3);
  const std::string who = "rank 1 " + pid_text(ranks[1]) + " died";
  ranks[1].kill9();
  std::vector<Answer> answers;
  answers.push_back(ranks[0].finish());
  answers.push_back(ranks[2].finish());
  expect_refused(answers, HB_GONE, {who});
  expect_nothing_left();
  ranks[1] = actor();
  allocate(ranks[1], 1, 2, 0);
  const auto again = join_all();
  expect_joined(again);
  expect_all_see_all(again);
  leave_all();
}

// The rank that breaks the rules brings a descriptor of its own making, which is no GPU's.
class HostGroupFailures : public GroupFailures {};
INSTANTIATE_TEST_SUITE_P(Host, HostGroupFailures, testing::Values("host"),
                         [](const auto&) { return "memory"; });

TEST_P(HostGroupFailures, S4_ARankThatDiesWhileOthersMapIsNamedAndNothingIsLeft) {
  start(1, 1);
  // A rank that takes its answer and maps nothing.
  RawPeer stuck = peer();
  const UniqueFd object = sealed_memfd(unit(), 1);
  const auto offered = stuck.export_fds("", {object.get()}, unit());
  ASSERT_EQ(offered.status, HB_OK);
  pb::Join join;
  join.set_name("job7/heap");
  join.set_rank(1);
  join.set_world(2);
  join.set_wait_ns(kWatchdogNs);
  join.set_export_id(offered.reply.export_id());
  join.set_access(3);
  join.set_max_handles(253);
  const std::uint64_t request = stuck.send(FrameType::kJoin, join);
  ranks[0].start("group_join", join_of(0, {{"world", 2}}));
  const auto joined = stuck.await<pb::JoinReply>(request);
  ASSERT_EQ(joined.status, HB_OK);
  EXPECT_EQ(joined.fds.size(), 1u);
  EXPECT_EQ(joined.reply.members(0).process().pid(), static_cast<std::uint32_t>(ranks[0].pid()));
  wait_for_ranks(1);
  stuck.disconnect();
  const Answer answer = ranks[0].finish();
  EXPECT_EQ(answer.status, HB_GONE) << answer;
  EXPECT_NE(answer.message().find("rank 1 "), std::string::npos) << answer;
  expect_nothing_left();
  ranks[0].leave();
}

TEST_P(GroupFailures, ARankThatCannotMapFailsForAllAndIsNamed) {
  start(3, 1);
  // Taken in rank 2 alone.
  const std::uint64_t at = 0x7e90'0000'0000;
  ranks[2].ok("export", {{"mem", "m"}, {"export", "own"}, {"name", "own"}});
  ranks[2].ok("import", {{"name", "own"}, {"address", at}});
  const auto answers = join_all({{"bases", std::to_string(at) + " 0 0"}});
  expect_refused(answers, HB_ADDRESS, {"rank 2 " + pid_text(ranks[2]), "mapping rank 0"});
  ranks[2].ok("close_import");
  expect_nothing_left();
  expect_joined(join_all({{"bases", std::to_string(at) + " 0 0"}}));
  leave_all();
}

TEST_P(GroupFailures, ARankThatIsHeldIsNamedByItsPidAndAHigherAttemptEndsTheMeeting) {
  start(2, 1);
  Actor late = actor();
  allocate(late, 0, 1, 0);
  start_join(0);
  wait_for_ranks(1);
  const Answer held = late.call("group_join", join_of(0));
  EXPECT_EQ(held.status, HB_EXISTS) << held;
  EXPECT_NE(held.message().find("pid " + std::to_string(ranks[0].pid())), std::string::npos) << held;
  EXPECT_FALSE(ranks[0].answered());
  late.start("group_join", join_of(0, {{"attempt", 1}}));
  const Answer replaced = ranks[0].finish();
  EXPECT_EQ(replaced.status, HB_REPLACED) << replaced;
  EXPECT_EQ(ranks[0].call("group_join", join_of(0)).status, HB_REPLACED);
  start_join(1, {{"attempt", 1}});
  EXPECT_EQ(ranks[1].finish().status, HB_OK);
  EXPECT_EQ(late.finish().status, HB_OK);
  EXPECT_EQ(ranks[0].call("group_join", join_of(0)).status, HB_REPLACED);
  late.ok("group_leave");
  ranks[1].ok("group_leave");
  expect_nothing_left();
}

TEST_P(GroupFailures, ALeftOrDeadRankIsNamedToWhoeverAsks) {
  start(3, 1);
  expect_joined(join_all());
  for (Actor& rank : ranks) rank.ok("group_check");
  ranks[1].ok("group_leave");
  const Answer left = ranks[0].call("group_check");
  EXPECT_EQ(left.status, HB_GONE);
  EXPECT_NE(left.message().find("rank 1 " + pid_text(ranks[1]) + " left"), std::string::npos) << left;
  // What is mapped stays until it is left.
  expect_bytes(ranks[2], ranks[2].ok("group_members").number("0.ptr"), unit(), seed_of(0));
  for (const std::size_t rank : {0u, 2u}) ranks[rank].ok("group_leave");
  expect_nothing_left();
}

TEST_P(GroupFailures, AnAppendOfAnotherSizeIsNamedToAllAndEndsTheGroup) {
  start(3, 1, 4);
  expect_joined(join_all({{"max", 4 * unit()}}));
  std::vector<Message> arguments;
  for (std::size_t rank = 0; rank < 3; ++rank) {
    ranks[rank].ok("grow_memory", {{"bytes", (rank == 1 ? 2 : 1) * unit()}});
    arguments.push_back({{"mem", "m"}, {"offset", unit()}, {"timeout_ms", 20'000}});
  }
  const auto answers = all("group_append", arguments);
  expect_refused(answers, HB_MISMATCH, {"rank 1 " + pid_text(ranks[1])});
  EXPECT_EQ(answers[0].number("1.bytes"), unit());  // nothing of it was mapped
  EXPECT_EQ(answers[1].number("0.bytes"), unit());
  EXPECT_EQ(ranks[0].call("group_append", arguments[0]).status, HB_MISMATCH);
  leave_all();
}

TEST_P(GroupFailures, ARankThatDiesDuringAnAppendIsNamed) {
  start(2, 1, 4);
  expect_joined(join_all({{"max", 4 * unit()}}));
  ranks[0].ok("grow_memory", {{"bytes", unit()}});
  ranks[0].start("group_append", {{"mem", "m"}, {"offset", unit()}});
  wait_for_ranks(1);
  const std::string who = "rank 1 " + pid_text(ranks[1]) + " died";
  ranks[1].kill9();
  const Answer answer = ranks[0].finish();
  EXPECT_EQ(answer.status, HB_GONE) << answer;
  EXPECT_NE(answer.message().find(who), std::string::npos) << answer;
  ranks[0].ok("group_leave");
  expect_nothing_left();
  ranks[0].leave();
}

}  // namespace
}  // namespace hb::test
