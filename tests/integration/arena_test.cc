// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Memory out of an arena, between processes.
#include "integration/memory_fixture.h"

namespace hb::test {
namespace {

class Arena : public EveryMemory {
 protected:
  // A producer with an arena of 16 blocks, the second half of whose first block is where `p` begins: an
  // allocation of two blocks that touches three.
  Actor producer(std::uint64_t keep_blocks = 0) {
    Actor out = actor();
    Message asked{{"reserve", 16 * unit()}, {"block", unit()}, {"keep", keep_blocks * unit()}};
    if (on_gpu()) asked.insert({{"provider", HB_PROVIDER_HIP}, {"device", 2}});
    out.ok("arena", asked);
    out.ok("piece", {{"piece", "before"}, {"bytes", unit() / 2}});
    out.ok("piece", {{"bytes", 2 * unit()}});
    out.ok("piece", {{"piece", "behind"}, {"bytes", unit() / 2}});
    out.ok("fill", {{"piece", "before"}, {"seed", 8}});
    out.ok("fill", {{"piece", "behind"}, {"seed", 9}});
    out.ok("fill", {{"piece", "p"}, {"seed", 1}});
    return out;
  }
  static std::uint64_t blocks(Actor& of) { return of.ok("arena_info").number("blocks"); }
  // Of that GPU, over all processes; 0 where there is none.
  static std::uint64_t gpu_bytes(Actor& of) {
    return on_gpu() ? of.ok("fake", {{"line", 2}}).number("bytes") : 0;
  }
};
HB_EVERY_MEMORY(Arena);

TEST_P(Arena, AnAllocationOverSeveralBlocksIsExportedExactly) {
  Actor owner = producer();
  Actor consumer = actor();
  owner.ok("export", {{"piece", "p"}, {"name", "heap"}});
  const Answer shown = consumer.ok("show", {{"name", "heap"}});
  EXPECT_EQ(shown.number("bytes"), 2 * unit()) << shown;
  const Answer listed = consumer.ok("list");
  EXPECT_EQ(listed.number("count"), 1u);
  const Answer imported = consumer.ok("import", {{"name", "heap"}, {"access", HB_ACCESS_READ_WRITE}});
  EXPECT_EQ(imported.number("bytes"), 2 * unit());
  consumer.ok("check", {{"import", "i"}, {"seed", 1}});
  consumer.ok("fill", {{"import", "i"}, {"seed", 2}});
  owner.ok("check", {{"piece", "p"}, {"seed", 2}});
  // Its neighbours in the first and the last block are as they were.
  owner.ok("check", {{"piece", "before"}, {"seed", 8}});
  owner.ok("check", {{"piece", "behind"}, {"seed", 9}});
  // A part of it, from the middle of one block to the middle of another.
  owner.ok("export", {{"export", "part"},
                      {"piece", "p"},
                      {"name", "part"},
                      {"offset", unit()},
                      {"bytes", unit() / 2 + unit() / 4}});
  consumer.ok("import", {{"import", "part"}, {"name", "part"}});
  EXPECT_EQ(consumer.ok("check", {{"import", "part"}, {"seed", 2}, {"at", unit()}}).number("bytes"),
            unit() / 2 + unit() / 4);
}

TEST_P(Arena, FreeEndsExportsAndGivesDescriptorsAndMemoryBack) {
  Actor owner = actor();
  const std::uint64_t bare = owner.ok("fds").number("count");
  const std::uint64_t empty = gpu_bytes(owner);
  owner.ok("close");
  owner.leave();
  Actor again = producer();
  Actor consumer = actor();
  const std::string key = again.ok("export", {{"piece", "p"}, {"name", "heap"}}).text("key");
  consumer.ok("import", {{"name", "heap"}});
  EXPECT_EQ(blocks(again), 3u);
  for (const char* name : {"p", "before", "behind"}) again.ok("free_piece", {{"piece", name}});
  EXPECT_EQ(blocks(again), 0u);
  EXPECT_EQ(again.ok("arena_info").number("used"), 0u);
  EXPECT_EQ(again.ok("fds").number("count"), bare);
  EXPECT_EQ(consumer.call("import", {{"import", "x"}, {"name", "heap"}}).status, HB_NOT_FOUND);
  EXPECT_EQ(consumer.call("import", {{"import", "x"}, {"key", key}}).status, HB_GONE);
  EXPECT_EQ(consumer.ok("current").number("current"), 0u);
  consumer.ok("check", {{"import", "i"}, {"seed", 1}});  // a holder keeps its bytes
  expect_baseline("after all was freed", 2);
  consumer.ok("close_import");
  EXPECT_TRUE(poll_until([&] { return gpu_bytes(again) == empty; })) << gpu_bytes(again);
}

// Nobody reads what is placed there next: neither a late comer nor one that still maps it.
TEST_P(Arena, AHolderDoesNotSeeWhatComesNext) {
  Actor owner = producer(16);
  Actor consumer = actor();
  const Message whole{{"piece", "whole"}, {"bytes", unit()}, {"align", unit()}};
  const std::string place = owner.ok("piece", whole).text("ptr");
  owner.ok("fill", {{"piece", "whole"}, {"seed", 3}});
  owner.ok("export", {{"piece", "whole"}, {"name", "heap"}});
  consumer.ok("import", {{"name", "heap"}});
  owner.ok("free_piece", {{"piece", "whole"}});
  const Answer next = owner.ok("piece", {{"piece", "next"}, {"bytes", unit()}, {"align", unit()}});
  EXPECT_EQ(next.text("ptr"), place);
  owner.ok("fill", {{"piece", "next"}, {"seed", 4}});
  consumer.ok("check", {{"import", "i"}, {"seed", 3}});
  owner.ok("check", {{"piece", "next"}, {"seed", 4}});
}

TEST_P(Arena, WhatIsNotAllocatedIsRefusedByName) {
  Actor owner = producer();
  const Answer beyond = owner.call("export", {{"piece", "p"}, {"bytes", 2 * unit() + 1}});
  EXPECT_EQ(beyond.status, HB_RANGE) << beyond;
  EXPECT_EQ(beyond.number("limit"), 2 * unit());
  const Answer whole = owner.ok("piece_info", {{"piece", "p"}, {"offset", 2 * unit() - 1}});
  EXPECT_EQ(whole.number("memory"), std::uint64_t{HB_MEMORY_OWN});
  EXPECT_EQ(whole.number("shareable"), 1u);
  EXPECT_EQ(whole.number("base_is_it"), 1u);
  EXPECT_EQ(whole.number("bytes"), 2 * unit());
  EXPECT_EQ(whole.text("ordinal"), on_gpu() ? "2" : "-1");
  const Answer inside = owner.call("free_piece", {{"offset", 256}});
  EXPECT_EQ(inside.status, HB_INVALID);
  EXPECT_NE(inside.message().find("256 bytes inside"), std::string::npos) << inside;
  owner.ok("free_piece");
  const Answer gone = owner.call("export", {{"piece", "p"}});
  EXPECT_EQ(gone.status, HB_NOT_SHAREABLE) << gone;
  EXPECT_NE(gone.message().find("arena"), std::string::npos) << gone;
  const Answer told = owner.ok("piece_info");
  EXPECT_EQ(told.number("memory"), std::uint64_t{HB_MEMORY_UNKNOWN});
  EXPECT_NE(told.text("reason").find("arena"), std::string::npos) << told;
  EXPECT_EQ(owner.call("free_piece").status, HB_INVALID);
  const Answer full = owner.call("piece", {{"bytes", 16 * unit()}});
  EXPECT_EQ(full.status, HB_NO_MEMORY);
  EXPECT_EQ(full.number("used"), 16 * unit());
  EXPECT_EQ(full.number("limit"), owner.ok("arena_info").number("largest"));
}

TEST_P(Arena, DestructionLeavesImportersTheirBytes) {
  Actor owner = producer();
  Actor consumer = actor();
  const std::string key = owner.ok("export", {{"piece", "p"}, {"name", "heap"}}).text("key");
  consumer.ok("import", {{"name", "heap"}});
  owner.ok("drop_arena");
  consumer.ok("check", {{"import", "i"}, {"seed", 1}});
  Actor late = actor();
  late.ok("import", {{"key", key}});  // the export lives, as one of hb_memory_free
  late.ok("check", {{"import", "i"}, {"seed", 1}});
}

TEST_P(Arena, AnAliasKeepsItsMemory) {
  Actor owner = producer();
  owner.ok("export", {{"piece", "p"}, {"name", "heap"}});
  owner.ok("import", {{"name", "heap"}, {"alias", 1}});
  owner.ok("free_piece");
  EXPECT_EQ(blocks(owner), 3u);
  owner.ok("piece", {{"piece", "other"}, {"bytes", 2 * unit()}});
  owner.ok("fill", {{"piece", "other"}, {"seed", 5}});
  owner.ok("check", {{"import", "i"}, {"seed", 1}});
  owner.ok("close_import");
  owner.ok("free_piece", {{"piece", "other"}});
  EXPECT_EQ(blocks(owner), 2u);  // of the two small ones
}

TEST_P(Arena, AThousandRoundsLeaveNothing) {
  Actor owner = actor();
  Message asked{{"reserve", 16 * unit()}, {"block", unit()}, {"keep", 2 * unit()}};
  if (on_gpu()) asked.insert({{"provider", HB_PROVIDER_HIP}, {"device", 2}});
  const std::uint64_t empty = gpu_bytes(owner);
  owner.ok("arena", asked);
  Message how{{"rounds", 1000}};
  if (!is({"7.14"})) how.emplace("fds_per_block", on_gpu() ? 0 : 1);  // there also one an export, for a time
  const Answer done = owner.ok("arena_rounds", how);
  EXPECT_GT(done.number("exports"), 100u);
  EXPECT_EQ(done.number("mapped"), 0u);
  EXPECT_EQ(done.number("used"), 0u);
  EXPECT_EQ(done.number("whole"), 1u);
  EXPECT_EQ(done.number("more_fds"), 0u);
  expect_baseline("after the rounds", 1);
  EXPECT_TRUE(poll_until([&] { return gpu_bytes(owner) == empty; })) << gpu_bytes(owner);
}

TEST_P(Arena, IsInertInAForkedChild) {
  Actor owner = producer();
  const Answer child = owner.ok("arena_in_child", {{"piece", "p"}});
  for (const char* call : {"alloc", "free", "trim"})
    EXPECT_EQ(child.text(call), std::to_string(HB_FORKED)) << child;
  EXPECT_EQ(child.number("allocations"), 3u);
  EXPECT_EQ(child.number("same_fds"), 1u);
  owner.ok("check", {{"piece", "p"}, {"seed", 1}});
  owner.ok("export", {{"piece", "p"}, {"name", "heap"}});
  owner.ok("free_piece");
  EXPECT_EQ(blocks(owner), 2u);
}

}  // namespace
}  // namespace hb::test
