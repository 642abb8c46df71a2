// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Memory that is given back when the GPU is done with it.
#include "integration/hip/gpu_fixture.h"

namespace hb::test {
namespace {

class GpuReap : public Gpu {
 protected:
  // An actor with stream "s" on GPU 2 that has work, and event "e" behind it.
  [[nodiscard]] Actor busy_actor(std::uint64_t cache = 0) {
    Actor actor = gpu_actor();
    if (cache != 0) actor.ok("open", {{"client", "cached"}, {"socket", daemon().socket()}, {"cache", cache}});
    actor.ok("named_stream", {{"stream", "s"}, {"on", 2}});
    actor.ok("work", {{"stream", "s"}, {"busy", 1}});
    actor.ok("record", {{"stream", "s"}, {"event", "e"}});
    return actor;
  }
  static void finish_work(Actor& actor) { actor.ok("work", {{"stream", "s"}, {"busy", 0}}); }
  static std::uint64_t mappings(Actor& actor) { return actor.ok("fake").number("mappings"); }
  static void leave(Actor& actor) {
    actor.ok("drop_streams");
    actor.leave();
  }
};
HB_EVERY_GPU_VERSION(GpuReap);

// No call waits for the stream, which newest runtimes would do in hipMemUnmap.
TEST_P(GpuReap, AnImportWaitsForItsEventAndNobodyForTheImport) {
  Actor producer = gpu_actor();
  Actor consumer = busy_actor();
  export_kv(producer, 2);
  const std::string before = consumer.ok("fake").text("state");
  consumer.ok("import", {{"name", "kv"}});
  consumer.ok("unmap_when", {{"event", "e"}});
  EXPECT_EQ(mappings(consumer), 2u);
  EXPECT_EQ(consumer.ok("reap").number("waiting"), 1u);
  EXPECT_EQ(producer.ok("who").number("count"), 1u);
  finish_work(consumer);
  EXPECT_EQ(mappings(consumer), 2u);  // nobody has asked
  EXPECT_EQ(consumer.ok("reap").number("waiting"), 0u);
  EXPECT_EQ(consumer.ok("fake").text("state"), before);
  EXPECT_TRUE(poll_until([&] { return producer.ok("who").number("count") == 0; }));
  // Done before it is asked: at once.
  consumer.ok("import", {{"name", "kv"}});
  consumer.ok("unmap_when", {{"event", "e"}});
  EXPECT_EQ(consumer.ok("fake").text("state"), before);
  leave(consumer);
  producer.leave();
}

TEST_P(GpuReap, MemoryIsFreedWhenItsEventIsDone) {
  Actor producer = busy_actor();
  const std::string before = producer.ok("fake").text("state");
  export_kv(producer, 1);
  producer.ok("free_when", {{"event", "e"}});
  EXPECT_EQ(producer.ok("reap").number("waiting"), 1u);
  EXPECT_EQ(mappings(producer), 1u);
  finish_work(producer);
  EXPECT_EQ(producer.ok("reap").number("waiting"), 0u);
  EXPECT_EQ(producer.ok("fake").text("state"), before);
  // The export lives on, as after hb_memory_free.
  Actor consumer = gpu_actor();
  consumer.ok("import", {{"name", "kv"}});
  consumer.ok("gpu_check", {{"import", "i"}, {"on", 2}, {"seed", 1}});
  consumer.leave();
  leave(producer);
}

TEST_P(GpuReap, EveryCallThatMakesOrGivesBackReaps) {
  Actor producer = gpu_actor();
  Actor consumer = busy_actor();
  export_kv(producer, 1);
  const Message gpu{{"mem", "own"}, {"provider", HB_PROVIDER_HIP}, {"bytes", kGpuChunk}};
  // `left`: the mappings of everything but what waited.
  const auto reaped_by = [&](const char* verb, const Message& arguments, std::uint64_t left) {
    consumer.ok("work", {{"stream", "s"}, {"busy", 1}});
    consumer.ok("record", {{"stream", "s"}, {"event", "e"}});
    consumer.ok("import", {{"import", "w"}, {"name", "kv"}, {"offset", 4096}});
    consumer.ok("unmap_when", {{"import", "w"}, {"event", "e"}});
    finish_work(consumer);
    consumer.ok(verb, arguments);
    EXPECT_EQ(consumer.ok("arm").number("mappings"), left) << verb;
  };
  reaped_by("alloc", gpu, 1);
  reaped_by("export", {{"mem", "own"}, {"export", "own"}, {"name", "own"}}, 1);
  reaped_by("import", {{"name", "kv"}}, 2);
  reaped_by("close_import", {}, 1);
  reaped_by("free", {{"mem", "own"}}, 0);
  leave(consumer);
  producer.leave();
}

TEST_P(GpuReap, WhatIsNoEventIsRefusedAndTheHandleStays) {
  Actor producer = gpu_actor();
  Actor consumer = busy_actor();
  export_kv(producer, 1);
  consumer.ok("import", {{"name", "kv"}});
  consumer.ok("alloc", {{"provider", HB_PROVIDER_HIP}, {"bytes", 1}});
  consumer.ok("named_stream", {{"stream", "c"}, {"on", 2}});
  consumer.ok("capture", {{"stream", "c"}});
  consumer.ok("record", {{"stream", "c"}, {"event", "captured"}});
  const std::string before = consumer.ok("fake").text("state");
  for (const char* verb : {"unmap_when", "free_when"}) {
    const auto refused = [&](const char* event, hb_status status) {
      const Answer answer = consumer.call(verb, {{"event", event}});
      EXPECT_EQ(answer.status, status) << verb << " " << event << ": " << answer;
      EXPECT_NE(answer.message().find("event"), std::string::npos) << answer;
    };
    refused("null", HB_INVALID);
    refused("none", HB_INVALID);
    refused("captured", HB_BUSY);
  }
  consumer.ok("capture", {{"stream", "c"}, {"end", 1}});  // it was not broken
  EXPECT_EQ(consumer.ok("fake").text("state"), before);
  EXPECT_EQ(consumer.ok("reap").number("waiting"), 0u);
  consumer.ok("gpu_check", {{"import", "i"}, {"on", 2}, {"seed", 1}});

  // Host memory is given back at once, and its event not looked at; NULL is refused all the same.
  consumer.ok("alloc", {{"mem", "h"}, {"bytes", 4096}});
  producer.ok("alloc", {{"mem", "h"}, {"bytes", 4096}});
  producer.ok("export", {{"mem", "h"}, {"export", "h"}, {"name", "host"}});
  consumer.ok("import", {{"import", "h"}, {"name", "host"}});
  EXPECT_EQ(consumer.call("free_when", {{"mem", "h"}, {"event", "null"}}).status, HB_INVALID);
  EXPECT_EQ(consumer.call("unmap_when", {{"import", "h"}, {"event", "null"}}).status, HB_INVALID);
  consumer.ok("free_when", {{"mem", "h"}, {"event", "none"}});
  consumer.ok("unmap_when", {{"import", "h"}, {"event", "none"}});
  EXPECT_EQ(consumer.ok("reap").number("waiting"), 0u);
  finish_work(consumer);
  leave(consumer);
  producer.leave();
}

// Each use of a mapping waits for the event of its own; who closes plainly does not pull it away from others.
TEST_P(GpuReap, UsesOfOneMappingAreCounted) {
  Actor producer = gpu_actor();
  Actor consumer = busy_actor(8 * kGpuChunk);
  export_kv(producer, 1);
  consumer.ok("import", {{"import", "a"}, {"name", "kv"}});
  consumer.ok("import", {{"import", "b"}, {"name", "kv"}});
  consumer.ok("import", {{"import", "c"}, {"name", "kv"}});
  consumer.ok("unmap_when", {{"import", "a"}, {"event", "e"}});
  consumer.ok("close_import", {{"import", "b"}});
  consumer.ok("gpu_check", {{"import", "c"}, {"on", 2}, {"seed", 1}});
  consumer.ok("close_import", {{"import", "c"}});
  EXPECT_EQ(mappings(consumer), 1u);
  // Still the same, for who comes meanwhile.
  consumer.ok("import", {{"import", "d"}, {"name", "kv"}});
  EXPECT_EQ(mappings(consumer), 1u);
  finish_work(consumer);
  EXPECT_EQ(consumer.ok("reap").number("waiting"), 0u);
  consumer.ok("gpu_check", {{"import", "d"}, {"on", 2}, {"seed", 1}});
  consumer.ok("unmap_when", {{"import", "d"}, {"event", "e"}});
  EXPECT_EQ(mappings(consumer), 0u);

  // A cache keeps it mapped after its last use, this one's too.
  consumer.ok("import", {{"client", "cached"}, {"import", "k"}, {"name", "kv"}});
  consumer.ok("unmap_when", {{"import", "k"}, {"event", "e"}});
  EXPECT_EQ(mappings(consumer), 1u);
  EXPECT_EQ(consumer.ok("reap").number("waiting"), 0u);
  consumer.ok("close", {{"client", "cached"}});
  EXPECT_EQ(mappings(consumer), 0u);
  leave(consumer);
  producer.leave();
}

TEST_P(GpuReap, NothingWaitsForALostDeviceOrAnEventThatIsGone) {
  Actor producer = gpu_actor();
  Actor consumer = busy_actor();
  export_kv(producer, 1);
  consumer.ok("set_device", {{"device", 2}});
  const std::string before = consumer.ok("fake").text("state");
  consumer.ok("import", {{"name", "kv"}});
  consumer.ok("unmap_when", {{"event", "e"}});
  EXPECT_EQ(consumer.ok("reap").number("waiting"), 1u);
  consumer.ok("arm", {{"control", "lost_device=3"}});  // ordinal 2
  EXPECT_EQ(consumer.ok("reap").number("waiting"), 0u);
  EXPECT_EQ(consumer.ok("arm", {{"control", "lost_device=0"}}).number("mappings"), 0u);
  EXPECT_EQ(consumer.ok("fake").text("state"), before);

  consumer.ok("import", {{"name", "kv"}});
  consumer.ok("arm", {{"control", "lost_device=3"}});
  consumer.ok("unmap_when", {{"event", "e"}});  // lost already: there is nothing to wait for
  EXPECT_EQ(consumer.ok("arm", {{"control", "lost_device=0"}}).number("mappings"), 0u);

  consumer.ok("import", {{"name", "kv"}});
  consumer.ok("record", {{"event", "x"}, {"stream", "s"}});
  consumer.ok("unmap_when", {{"event", "x"}});
  consumer.ok("drop_event", {{"event", "x"}});
  finish_work(consumer);
  EXPECT_EQ(consumer.ok("reap").number("waiting"), 0u);
  EXPECT_EQ(mappings(consumer), 0u);
  leave(consumer);
  producer.leave();
}

}  // namespace
}  // namespace hb::test
