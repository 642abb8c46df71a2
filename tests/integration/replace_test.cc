// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Other memory under a key or a name that is known: nobody takes the one for the other.
#include "integration/memory_fixture.h"

namespace hb::test {
namespace {

class Replacing : public EveryMemory {
 protected:
  static void objects(Actor& producer, const std::string& fds, std::uint64_t count, std::uint64_t first) {
    producer.ok("objects", {{"fds", fds}, {"count", count}, {"bytes", unit()}, {"first", first}});
  }
  static void expect_chunk(Actor& consumer, std::uint64_t chunk, std::uint64_t number,
                           const std::string& import = "i") {
    consumer.ok("pattern", {{"import", import},
                            {"chunk_bytes", unit()},
                            {"from", chunk},
                            {"count", 1},
                            {"first", number - chunk}});
  }
};
HB_EVERY_MEMORY(Replacing);

TEST_P(Replacing, B16_AnotherExportUnderTheNameIsAnotherWhateverWasCached) {
  Actor producer = actor();
  Actor consumer = process();
  consumer.ok("open", {{"socket", daemon().socket()}, {"cache", 1u << 30}});
  objects(producer, "a", 2, 0);
  const Answer first = producer.ok("export", {{"fds", "a"}, {"bytes", unit()}, {"name", "x"}});
  consumer.ok("import", {{"import", "named"}, {"name", "x"}});
  consumer.ok("import", {{"import", "keyed"}, {"key", first.text("key")}});
  consumer.ok("close_import", {{"import", "named"}});
  consumer.ok("close_import", {{"import", "keyed"}});
  producer.ok("withdraw");
  objects(producer, "b", 4, 50);
  const Answer second =
      producer.ok("export", {{"export", "e2"}, {"fds", "b"}, {"bytes", unit()}, {"name", "x"}});
  EXPECT_GT(second.number("generation"), first.number("generation"));
  EXPECT_EQ(consumer.call("import", {{"import", "old"}, {"key", first.text("key")}}).status, HB_STALE);
  const Answer got = consumer.ok("import", {{"import", "new"}, {"name", "x"}});
  EXPECT_EQ(got.number("bytes"), 4 * unit());
  EXPECT_EQ(got.number("generation"), second.number("generation"));
  for (std::uint64_t i = 0; i < 4; ++i) expect_chunk(consumer, i, 50 + i, "new");
}

TEST_P(Replacing, B16_AReplacedChunkIsNewToWhoAcquiresAndOldToWhoHeldUntilTheyRefresh) {
  Actor producer = actor();
  Actor consumer = process();
  consumer.ok("open", {{"socket", daemon().socket()}, {"cache", 1u << 30}});
  objects(producer, "a", 3, 0);
  const Answer made = producer.ok("export", {{"fds", "a"}, {"bytes", unit()}, {"name", "x"}});
  const Answer held = consumer.ok("import", {{"key", made.text("key")}});
  const Answer first = consumer.ok(
      "import", {{"import", "first"}, {"key", made.text("key")}, {"bytes", unit()}, {"access", 3}});
  consumer.ok("await");
  objects(producer, "b", 1, 7);
  const Answer replaced = producer.ok("replace", {{"chunk", 1}, {"fds", "b"}, {"bytes", unit()}});
  EXPECT_EQ(replaced.number("layout"), made.number("layout") + 1);
  EXPECT_EQ(replaced.number("bytes"), made.number("bytes"));
  const Answer told = consumer.ok("await", {{"kind", "replaced"}});
  EXPECT_EQ(told.text("told"), "replaced[1+1]");
  EXPECT_EQ(told.number("layout"), 2u);
  EXPECT_EQ(consumer.ok("current").number("current"), 0u);
  EXPECT_EQ(consumer.ok("current", {{"import", "first"}}).number("current"), 1u);  // it has no part in it
  for (std::uint64_t i = 0; i < 3; ++i) expect_chunk(consumer, i, i);

  const Answer anew = consumer.ok("import", {{"import", "new"}, {"key", made.text("key")}});
  EXPECT_NE(anew.number("ptr"), held.number("ptr"));
  expect_chunk(consumer, 0, 0, "new");
  expect_chunk(consumer, 1, 7, "new");
  expect_chunk(consumer, 2, 2, "new");
  expect_chunk(consumer, 1, 1);

  const std::uint64_t fetched = consumer.ok("stats").number("fetched_fds");
  const Answer refreshed = consumer.ok("refresh");
  EXPECT_EQ(refreshed.number("ptr"), held.number("ptr"));
  EXPECT_EQ(refreshed.number("replaced"), 1u);
  EXPECT_EQ(refreshed.number("new"), 0u);
  EXPECT_EQ(consumer.ok("stats").number("fetched_fds"), fetched + 1);
  EXPECT_EQ(consumer.ok("current").number("current"), 1u);
  expect_chunk(consumer, 0, 0);
  expect_chunk(consumer, 1, 7);
  expect_chunk(consumer, 2, 2);
}

TEST_P(Replacing, WhatWasReplacedIsTheOwnersAgain) {
  Actor producer = actor();
  Actor consumer = actor();
  producer.ok("alloc", {{"bytes", 3 * unit()}, {"chunk", unit()}});
  producer.ok("fill", {{"mem", "m"}, {"seed", 1}});
  producer.ok("alloc", {{"mem", "o"}, {"bytes", unit()}});
  producer.ok("fill", {{"mem", "o"}, {"seed", 2}});
  const Answer made = producer.ok("export", {{"mem", "m"}, {"name", "x"}});
  producer.ok("replace", {{"chunk", 1}, {"mem", "o"}});
  const Message old{{"mem", "m"}, {"offset", unit()}, {"bytes", unit()}};
  EXPECT_EQ(producer.ok("withdraw", old).number("exports"), 0u);
  consumer.ok("import", {{"key", made.text("key")}, {"offset", unit()}, {"bytes", unit()}});
  consumer.ok("check", {{"import", "i"}, {"seed", 2}});
  // It is neither whole nor side by side where an alias would look for it.
  EXPECT_EQ(producer.call("import", {{"import", "a"}, {"name", "x"}, {"alias", 1}}).status, HB_UNSUPPORTED);
  EXPECT_EQ(producer.call("sleep_memory").status, HB_BUSY);  // two chunks of it are read still
  EXPECT_EQ(producer.ok("withdraw", {{"mem", "o"}, {"bytes", unit()}}).number("exports"), 1u);
  producer.ok("sleep_memory");
}

TEST_P(Replacing, AnAcquireNeverMixesTwoLayouts) {
  ProcessOptions few;
  if (!on_gpu()) few.nofile = 40;
  const std::uint64_t chunks = on_gpu() ? 6 : 60;
  Actor producer = actor();
  Actor consumer = actor(few);
  objects(producer, "0", chunks, 0);
  const Answer made = producer.ok("export", {{"fds", "0"}, {"bytes", unit()}, {"name", "x"}});
  for (std::uint64_t run = 1; run <= 15; ++run) {
    objects(producer, "next", chunks, 1000 * run);
    consumer.start("import", {{"key", made.text("key")}});
    producer.ok("replace", {{"chunk", 0}, {"fds", "next"}, {"bytes", unit()}});
    const Answer got = consumer.finish();
    ASSERT_EQ(got.status, HB_OK) << got;
    consumer.ok("pattern", {{"chunk_bytes", unit()}, {"first", 1000 * (got.number("layout") - 1)}});
    EXPECT_EQ(consumer.ok("refresh").number("layout"), run + 1);
    consumer.ok("pattern", {{"chunk_bytes", unit()}, {"first", 1000 * run}});
    consumer.ok("close_import");
  }
}

TEST_P(Replacing, SizesStayAndTheChunkIsNamed) {
  Actor producer = actor();
  Actor consumer = actor();
  objects(producer, "a", 3, 0);
  const Answer made = producer.ok("export", {{"fds", "a"}, {"bytes", unit()}, {"name", "x"}});
  consumer.ok("import", {{"key", made.text("key")}});
  producer.ok("objects", {{"fds", "b"}, {"count", 1}, {"bytes", 2 * unit()}});
  const Answer larger = producer.call("replace", {{"chunk", 1}, {"fds", "b"}, {"bytes", 2 * unit()}});
  EXPECT_EQ(larger.status, HB_MISMATCH) << larger;
  EXPECT_EQ(larger.text("chunk"), "1");
  objects(producer, "c", 2, 9);
  EXPECT_EQ(producer.call("replace", {{"chunk", 2}, {"fds", "c"}, {"bytes", unit()}}).status, HB_RANGE);
  EXPECT_EQ(producer.call("replace", {{"chunk", 3}, {"fds", "c"}, {"bytes", unit()}}).status, HB_RANGE);
  EXPECT_EQ(consumer.ok("current").number("current"), 1u);
}

// A refresh that fails in the middle of several chunks.
class GpuReplacing : public Replacing {};
HB_EVERY_GPU_VERSION(GpuReplacing);

TEST_P(GpuReplacing, ARefreshThatFailsHalfWayIsUndone) {
  Actor producer = actor();
  Actor consumer = actor();
  objects(producer, "a", 3, 0);
  const Answer made =
      producer.ok("export", {{"fds", "a"}, {"bytes", unit()}, {"name", "x"}, {"max_bytes", 8 * unit()}});
  const Answer held = consumer.ok("import", {{"key", made.text("key")}});
  objects(producer, "b", 2, 20);
  objects(producer, "c", 2, 30);
  producer.ok("replace", {{"chunk", 0}, {"fds", "b"}, {"bytes", unit()}});
  producer.ok("append", {{"fds", "c"}, {"bytes", unit()}});
  const Answer before = consumer.ok("control");
  for (const char* fail : {"fail=hipMemMap:1", "fail=hipMemMap:2", "fail=hipMemMap:3", "fail=hipMemMap:4",
                           "fail=hipMemImportFromShareableHandle:4"}) {
    consumer.ok("control", {{"text", fail}});
    const Answer failed = consumer.call("refresh");
    consumer.ok("control", {{"text", "fail="}});
    EXPECT_NE(failed.status, HB_OK) << fail;
    EXPECT_EQ(failed.number("bytes"), 3 * unit());
    EXPECT_EQ(consumer.ok("current").number("current"), 0u);
    consumer.ok("pattern", {{"chunk_bytes", unit()}});
    const Answer after = consumer.ok("control");
    for (const char* what : {"handles", "imports", "mappings", "violations"})
      EXPECT_EQ(after.number(what), before.number(what)) << what << " after " << fail;
  }
  const Answer done = consumer.ok("refresh");
  EXPECT_EQ(done.number("ptr"), held.number("ptr"));
  EXPECT_EQ(done.number("replaced"), 2u);
  EXPECT_EQ(done.number("new"), 2u);
  expect_chunk(consumer, 0, 20);
  expect_chunk(consumer, 1, 21);
  expect_chunk(consumer, 2, 2);
  expect_chunk(consumer, 3, 30);
  expect_chunk(consumer, 4, 31);
  EXPECT_EQ(consumer.ok("stats").number("failed_frees"), 0u);
}

// About memfds: one whose chunk does not begin at a page cannot be mapped.
class HostReplacing : public DaemonTest {};

TEST_F(HostReplacing, ARefreshThatFailsHalfWayIsUndone) {
  Actor producer(daemon());
  Actor consumer(daemon());
  producer.ok("memfds", {{"count", 3}});
  const Answer made = producer.ok("export", {{"fds", "f"}, {"name", "x"}, {"max_bytes", 8 * kPage}});
  const Answer held = consumer.ok("import", {{"key", made.text("key")}});
  producer.ok("memfds", {{"fds", "b"}, {"count", 2}, {"first", 20}, {"bytes", 2 * kPage}});
  producer.ok("replace", {{"chunk", 0}, {"fds", "b"}, {"last_at", 8}});
  producer.ok("memfds", {{"fds", "c"}, {"first", 3}});
  producer.ok("append", {{"fds", "c"}});
  const Answer failed = consumer.call("refresh");
  EXPECT_EQ(failed.status, HB_UNSUPPORTED) << failed;
  EXPECT_EQ(failed.text("chunk"), "1");
  EXPECT_EQ(failed.number("bytes"), 3 * kPage);
  consumer.ok("pattern");
  producer.ok("memfds", {{"fds", "b"}, {"count", 2}, {"first", 0}});
  producer.ok("replace", {{"chunk", 0}, {"fds", "b"}});
  EXPECT_EQ(consumer.ok("refresh").number("ptr"), held.number("ptr"));
  EXPECT_EQ(consumer.ok("pattern").number("chunks"), 4u);
  for (const char* fds : {"f", "b", "c"}) producer.ok("drop_fds", {{"fds", fds}});
}

}  // namespace
}  // namespace hb::test
