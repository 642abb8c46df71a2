// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Exports that grow, and imports that follow in place.
#include "integration/memory_fixture.h"

namespace hb::test {
namespace {

class Growth : public EveryMemory {
 protected:
  // `count` chunks numbered from `first`, named `fds`.
  static void objects(Actor& producer, const std::string& fds, std::uint64_t count, std::uint64_t first) {
    producer.ok("objects", {{"fds", fds}, {"count", count}, {"bytes", unit()}, {"first", first}});
  }
  // "kv" of `chunks` chunks, which may grow to `most`.
  static Answer export_growing(Actor& producer, std::uint64_t chunks, std::uint64_t most) {
    objects(producer, "f0", chunks, 0);
    return producer.ok("export",
                       {{"fds", "f0"}, {"bytes", unit()}, {"name", "kv"}, {"max_bytes", most * unit()}});
  }
  static void add(Actor& producer, std::uint64_t count, std::uint64_t first) {
    const std::string fds = "f" + std::to_string(first);
    objects(producer, fds, count, first);
    producer.ok("append", {{"fds", fds}, {"bytes", unit()}});
  }
  static void expect_chunks(Actor& consumer, std::uint64_t chunks, const std::string& import = "i") {
    EXPECT_EQ(consumer.ok("pattern", {{"import", import}, {"chunk_bytes", unit()}}).number("chunks"), chunks);
  }
};
HB_EVERY_MEMORY(Growth);

TEST_P(Growth, S8_FourImportersFollowInPlaceAndALateOneGetsAllAtOnce) {
  constexpr int kSteps = 10;
  const std::uint64_t total = on_gpu() ? 100 : 1000;
  ProcessOptions many;
  many.nofile = 4096;
  Actor producer = actor(many);
  const Answer made = export_growing(producer, 1, total);
  std::vector<Actor> importers;
  std::vector<std::uint64_t> bases;
  for (int i = 0; i < 4; ++i) {
    importers.push_back(actor(many));
    const Answer got = importers.back().ok("import", {{"key", made.text("key")}});
    EXPECT_EQ(got.number("bytes"), unit());
    bases.push_back(got.number("ptr"));
    const Answer look = importers.back().ok("look");
    EXPECT_EQ(look.number("max"), total * unit());
    EXPECT_GE(look.number("reserved"), total * unit());
    importers.back().ok("await");  // subscribed
  }
  std::uint64_t chunks = 1;
  for (std::uint64_t step = 1; step <= kSteps; ++step) {
    const std::uint64_t more = step == kSteps ? total - chunks : total / kSteps;
    add(producer, more, chunks);
    for (std::size_t i = 0; i < importers.size(); ++i) {
      Actor& importer = importers[i];
      const Answer told = importer.ok("await", {{"kind", "grown"}});
      EXPECT_EQ(told.text("told"), "grown");
      EXPECT_EQ(told.number("layout"), step + 1);
      EXPECT_EQ(told.number("bytes"), (chunks + more) * unit());
      EXPECT_EQ(importer.ok("current").number("current"), 1u);
      expect_chunks(importer, chunks);  // on the old layout it still reads its part
      const Answer refreshed = importer.ok("refresh");
      EXPECT_EQ(refreshed.number("ptr"), bases[i]);
      EXPECT_EQ(refreshed.number("layout"), step + 1);
      EXPECT_EQ(refreshed.number("old_bytes"), chunks * unit());
      EXPECT_EQ(refreshed.number("bytes"), (chunks + more) * unit());
      EXPECT_EQ(refreshed.number("first_new"), chunks);
      EXPECT_EQ(refreshed.number("new"), more);
      EXPECT_EQ(refreshed.number("replaced"), 0u);
      expect_chunks(importer, chunks + more);
    }
    chunks += more;
  }
  for (Actor& importer : importers) {
    EXPECT_EQ(importer.ok("stats").number("fetched_fds"), total);
    EXPECT_EQ(importer.ok("refresh").number("new"), 0u);
    EXPECT_EQ(importer.ok("stats").number("fetched_fds"), total);
  }
  Actor late = actor(many);
  const Answer joined = late.ok("import", {{"key", made.text("key")}});
  EXPECT_EQ(joined.number("chunks"), total);
  EXPECT_EQ(joined.number("layout"), std::uint64_t{kSteps} + 1);
  expect_chunks(late, total);
  EXPECT_EQ(late.ok("stats").number("fetched_fds"), total);
  const Answer over = [&] {
    objects(producer, "over", 1, 0);
    return producer.call("append", {{"fds", "over"}, {"bytes", unit()}});
  }();
  EXPECT_EQ(over.status, HB_RANGE) << over;
  EXPECT_EQ(over.number("used"), (total + 1) * unit());
  EXPECT_EQ(over.number("limit"), total * unit());
  EXPECT_EQ(over.number("layout"), std::uint64_t{kSteps} + 1);
  EXPECT_EQ(late.ok("refresh").number("layout"), std::uint64_t{kSteps} + 1);
  for (Actor& importer : importers) importer.leave();
}

TEST_P(Growth, AnAcquireIsOfOneLayoutWhileChunksAreAdded) {
  ProcessOptions few;
  if (!on_gpu()) few.nofile = 40;  // some pages an acquire
  Actor producer = actor();
  const std::uint64_t first = on_gpu() ? 4 : 60;
  const Answer made = export_growing(producer, first, first + 20);
  Actor consumer = actor(few);
  for (std::uint64_t i = 0; i < 20; ++i) {
    objects(producer, "next", 1, first + i);
    consumer.start("import", {{"key", made.text("key")}});
    producer.ok("append", {{"fds", "next"}, {"bytes", unit()}});
    const Answer got = consumer.finish();
    ASSERT_EQ(got.status, HB_OK) << got;
    EXPECT_EQ(got.number("chunks"), first + got.number("layout") - 1);
    EXPECT_GE(got.number("layout"), i + 1);
    expect_chunks(consumer, got.number("chunks"));
    consumer.ok("close_import");
  }
}

TEST_P(Growth, ThreadsThatRefreshAtOnceMakeOne) {
  Actor producer = actor();
  Actor consumer = actor();
  const Answer made = export_growing(producer, 2, 8);
  consumer.ok("import", {{"key", made.text("key")}});
  consumer.ok("import", {{"import", "same"}, {"key", made.text("key")}});
  add(producer, 3, 2);
  const Answer done = consumer.ok("refresh", {{"threads", 4}});
  // A thread that came after the work was done found nothing new.
  EXPECT_GE(done.number("saw"), 1u);
  EXPECT_EQ(done.number("old_bytes"), 2 * unit());
  EXPECT_EQ(done.number("new"), 3u);
  EXPECT_EQ(consumer.ok("stats").number("fetched_fds"), 5u);
  // One mapping, refreshed for all who have it.
  EXPECT_EQ(consumer.ok("look", {{"import", "same"}}).number("bytes"), 5 * unit());
  EXPECT_EQ(consumer.ok("stats").number("mapped_bytes"), 5 * unit());
  consumer.ok("close_import", {{"import", "same"}});
  consumer.ok("close_import");
  EXPECT_EQ(consumer.ok("stats").number("mapped_bytes"), 0u);
}

TEST_P(Growth, WhatIsOpenedAfterwardsIsWholeAndTakesNothingFromOthers) {
  Actor producer = actor();
  Actor consumer = process();
  consumer.ok("open", {{"socket", daemon().socket()}, {"cache", 1u << 30}});
  const Answer made = export_growing(producer, 2, 8);
  const Message key{{"key", made.text("key")}};
  consumer.ok("import", key);
  const Message part{{"import", "part"}, {"key", made.text("key")}, {"bytes", unit()}};
  const Answer fixed = consumer.ok("import", part);
  add(producer, 1, 2);
  EXPECT_EQ(consumer.ok("current").number("current"), 1u);
  Message again = key;
  again.insert({"import", "again"});
  EXPECT_EQ(consumer.ok("import", again).number("bytes"), 3 * unit());
  EXPECT_EQ(consumer.ok("look").number("bytes"), 2 * unit());
  expect_chunks(consumer, 2);
  expect_chunks(consumer, 3, "again");
  // Of a fixed part nothing has changed: from the cache.
  Message part_again = part;
  part_again.insert_or_assign("import", "part2");
  EXPECT_EQ(consumer.ok("import", part_again).number("ptr"), fixed.number("ptr"));
  EXPECT_EQ(consumer.ok("refresh").number("bytes"), 3 * unit());
  // A grown mapping that nobody uses is not kept for a later one.
  consumer.ok("close_import", {{"import", "again"}});
  consumer.ok("close_import");
  add(producer, 1, 3);
  EXPECT_EQ(consumer.ok("import", key).number("bytes"), 4 * unit());
  expect_chunks(consumer, 4);
}

TEST_P(Growth, BeyondTheAddressesHeldNothingChangesAndBothNumbersAreSaid) {
  Actor producer = actor();
  Actor consumer = actor();
  const Answer made = export_growing(producer, 2, 8);
  const Answer got = consumer.ok("import", {{"key", made.text("key")}, {"reserve", 3 * unit()}});
  add(producer, 1, 2);
  EXPECT_EQ(consumer.ok("refresh").number("ptr"), got.number("ptr"));
  add(producer, 2, 3);
  const Answer over = consumer.call("refresh");
  EXPECT_EQ(over.status, HB_RANGE) << over;
  EXPECT_EQ(over.number("used"), 5 * unit());
  EXPECT_EQ(over.number("limit"), 3 * unit());
  EXPECT_EQ(over.number("bytes"), 3 * unit());
  expect_chunks(consumer, 3);
  EXPECT_EQ(consumer.ok("current").number("current"), 1u);
  EXPECT_EQ(consumer.call("refresh").status, HB_RANGE);
  EXPECT_EQ(consumer.ok("import", {{"import", "new"}, {"key", made.text("key")}}).number("bytes"),
            5 * unit());
  expect_chunks(consumer, 5, "new");
}

TEST_P(Growth, AnExportWithoutAMaximumDoesNotGrow) {
  Actor producer = actor();
  objects(producer, "f", 1, 0);
  producer.ok("export", {{"fds", "f"}, {"bytes", unit()}, {"name", "kv"}});
  const Answer refused = producer.call("append", {{"fds", "f"}, {"bytes", unit()}});
  EXPECT_EQ(refused.status, HB_UNSUPPORTED) << refused;
  producer.ok("withdraw");
  EXPECT_EQ(producer.call("append", {{"fds", "f"}, {"bytes", unit()}}).status, HB_GONE);
}

// An alias is the owner's pointer as far as it has the bytes side by side.
TEST_P(Growth, MemoryThatGrowsInPlaceIsOneAliasAndItsKeyGoesToTheEnd) {
  Actor producer = actor();
  Actor consumer = actor();
  const Answer memory = producer.ok("alloc", {{"bytes", unit()}, {"chunk", unit()}, {"reserve", 4 * unit()}});
  producer.ok("fill", {{"mem", "m"}, {"seed", 1}});
  const Answer made = producer.ok("export", {{"mem", "m"}, {"name", "kv"}, {"max_bytes", 4 * unit()}});
  consumer.ok("import", {{"name", "kv"}});
  const std::string to_the_end =
      consumer.ok("subkey", {{"import", "i"}, {"offset", unit() / 2}, {"bytes", HB_WHOLE}}).text("key");
  producer.ok("grow_memory", {{"bytes", unit()}});
  producer.ok("fill", {{"mem", "m"}, {"seed", 2}});
  producer.ok("append", {{"mem", "m"}, {"offset", unit()}});
  const Answer alias = producer.ok("import", {{"import", "alias"}, {"key", made.text("key")}, {"alias", 1}});
  EXPECT_EQ(alias.number("ptr"), memory.number("ptr"));
  EXPECT_EQ(alias.number("bytes"), 2 * unit());
  EXPECT_EQ(consumer.ok("refresh").number("bytes"), 2 * unit());
  consumer.ok("check", {{"import", "i"}, {"seed", 2}});
  EXPECT_EQ(consumer.ok("import", {{"import", "tail"}, {"key", to_the_end}}).number("bytes"),
            2 * unit() - unit() / 2);
  // The memory of a growing export is found wherever it lies.
  producer.ok("alloc", {{"mem", "other"}, {"bytes", unit()}});
  producer.ok("append", {{"mem", "other"}});
  EXPECT_EQ(producer.call("import", {{"import", "wide"}, {"key", made.text("key")}, {"alias", 1}}).status,
            HB_UNSUPPORTED);
  EXPECT_EQ(producer.ok("withdraw", {{"mem", "other"}, {"bytes", 8}}).number("exports"), 1u);
  EXPECT_EQ(consumer.ok("current").number("current"), 0u);
}

// About descriptors brought along, whose kinds may differ.
class HostGrowth : public DaemonTest {};

TEST_F(HostGrowth, AChunkOfAnotherKindOrDeviceIsNamedBeforeAnythingIsSent) {
  Actor producer(daemon());
  producer.ok("memfds", {{"count", 2}});
  producer.ok("export", {{"fds", "f"}, {"name", "kv"}, {"max_bytes", 8 * kPage}});
  producer.ok("memfds", {{"fds", "g"}, {"count", 2}});
  const Answer elsewhere =
      producer.call("append", {{"fds", "g"}, {"pci", "0000:83:00.0"}, {"uuid", "GPU-f00d"}});
  EXPECT_EQ(elsewhere.status, HB_MIXED) << elsewhere;
  EXPECT_EQ(elsewhere.text("chunk"), "2");
  EXPECT_NE(elsewhere.message().find("GPU-f00d"), std::string::npos) << elsewhere;
  producer.ok("pipe", {{"fds", "g"}});  // as a third, of no kind that memory has
  const Answer other = producer.call("append", {{"fds", "g"}});
  EXPECT_EQ(other.status, HB_MIXED) << other;
  EXPECT_EQ(other.text("chunk"), "4");
  EXPECT_EQ(other.number("layout"), 1u);
  EXPECT_EQ(other.number("bytes"), 2 * kPage);
  producer.ok("drop_fds", {{"fds", "g"}});
  producer.ok("drop_fds", {{"fds", "f"}});
}

// What the daemon has no descriptors for is added not at all.
class SmallDaemonGrowth : public DaemonTest {
 protected:
  SmallDaemonGrowth() : DaemonTest(small()) {}
  static DaemonOptions small() {
    DaemonOptions options;
    options.process.nofile = 128;
    return options;
  }
};

TEST_F(SmallDaemonGrowth, WhatTheDaemonHasNoRoomForLeavesNoTrace) {
  Actor producer(daemon());
  Actor consumer(daemon());
  producer.ok("memfds", {{"count", 2}});
  const Answer made = producer.ok("export", {{"fds", "f"}, {"name", "kv"}, {"max_bytes", 400 * kPage}});
  consumer.ok("import", {{"key", made.text("key")}});
  const std::size_t before = daemon().fd_count();
  for (const int count : {200, 300}) {  // one page, several
    producer.ok("memfds", {{"fds", "more"}, {"count", count}});
    const Answer refused = producer.call("append", {{"fds", "more"}});
    EXPECT_EQ(refused.status, HB_NO_FDS) << refused;
    EXPECT_EQ(refused.number("layout"), 1u);
  }
  expect_fds(before, "after the refusals");
  EXPECT_EQ(consumer.ok("refresh").number("layout"), 1u);
  producer.ok("memfds", {{"fds", "more"}, {"count", 3}, {"first", 2}});
  EXPECT_EQ(producer.ok("append", {{"fds", "more"}}).number("layout"), 2u);
  EXPECT_EQ(consumer.ok("refresh").number("bytes"), 5 * kPage);
  consumer.ok("pattern");
  producer.ok("drop_fds", {{"fds", "more"}});
  producer.ok("drop_fds", {{"fds", "f"}});
}

}  // namespace
}  // namespace hb::test
