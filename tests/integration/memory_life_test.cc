// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Memory of the library's own that grows and sleeps, over the C ABI, beside exports and readers of it.
#include "integration/memory_fixture.h"

namespace hb::test {
namespace {

class MemoryLife : public EveryMemory {};
HB_EVERY_MEMORY(MemoryLife);

TEST_P(MemoryLife, GrownMemoryIsExportedInOnePiece) {
  Actor producer = actor();
  Actor consumer = actor();
  const Answer made =
      producer.ok("alloc", {{"bytes", 2 * unit()}, {"chunk", unit()}, {"reserve", 4 * unit()}});
  producer.ok("fill", {{"seed", 3}});
  const Answer grown = producer.ok("grow_memory", {{"bytes", 2 * unit()}});
  EXPECT_EQ(grown.number("ptr"), made.number("ptr"));
  EXPECT_EQ(grown.number("bytes"), 4 * unit());
  EXPECT_EQ(grown.number("chunks"), 4u);
  EXPECT_EQ(grown.number("reserved"), 4 * unit());
  producer.ok("fill", {{"seed", 5}});
  const Answer over = producer.call("grow_memory", {{"bytes", 1}});
  EXPECT_EQ(over.status, HB_RANGE) << over;
  EXPECT_EQ(over.number("limit"), 4 * unit());
  EXPECT_EQ(over.number("bytes"), 4 * unit());
  producer.ok("export", {{"mem", "m"}, {"name", "kv"}});
  EXPECT_EQ(consumer.ok("import", {{"name", "kv"}}).number("bytes"), 4 * unit());
  consumer.ok("check", {{"import", "i"}, {"seed", 5}});
}

TEST_P(MemoryLife, MemorySleepsOnceNothingOfItIsExported) {
  Actor producer = actor();
  Actor consumer = actor();
  const Answer made = producer.ok("alloc", {{"bytes", 2 * unit()}, {"chunk", unit()}});
  const std::string id = producer.ok("export", {{"mem", "m"}, {"name", "kv"}}).text("id");
  const Answer busy = producer.call("sleep_memory");
  EXPECT_EQ(busy.status, HB_BUSY) << busy;
  EXPECT_EQ(busy.text("what"), "export " + id);
  EXPECT_EQ(busy.number("asleep"), 0u);
  producer.ok("fill", {{"seed", 3}});
  consumer.ok("import", {{"name", "kv"}});
  producer.ok("withdraw");

  EXPECT_EQ(producer.ok("sleep_memory").number("asleep"), 1u);
  consumer.ok("check", {{"import", "i"}, {"seed", 3}});  // readers keep what they mapped
  const Answer exported = producer.call("export", {{"mem", "m"}, {"name", "kv"}});
  EXPECT_EQ(exported.status, HB_SUSPENDED) << exported;
  EXPECT_EQ(producer.call("grow_memory", {{"bytes", 1}}).status, HB_SUSPENDED);

  const Answer awake = producer.ok("wake_memory");
  EXPECT_EQ(awake.number("asleep"), 0u);
  EXPECT_EQ(awake.number("ptr"), made.number("ptr"));
  EXPECT_EQ(awake.number("bytes"), made.number("bytes"));
  producer.ok("fill", {{"seed", 9}});
  producer.ok("export", {{"mem", "m"}, {"name", "kv"}});
  consumer.ok("import", {{"import", "j"}, {"name", "kv"}});
  consumer.ok("check", {{"import", "j"}, {"seed", 9}});
  consumer.ok("check", {{"import", "i"}, {"seed", 3}});
}

}  // namespace
}  // namespace hb::test
