// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Field reports about GPU memory, each under its number.
#include "integration/memory_fixture.h"

namespace hb::test {
namespace {

class GpuReports : public EveryMemory {};
HB_EVERY_GPU_VERSION(GpuReports);

// New memory where other memory was: neither the key of the old nor a cache of it leads to the new, and the
// new is never taken for the old.
TEST_P(GpuReports, B16_OtherMemoryAtTheSameAddressIsAnotherExport) {
  ProcessOptions options;
  options.env = {{"FAKE_HIP_SWITCHES", "reuse_addresses=1"}};
  Actor producer = actor(options);
  Actor consumer = process();
  consumer.ok("open", {{"socket", daemon().socket()}, {"cache", 1 << 30}});
  const Answer first = producer.ok("alloc", {{"bytes", 2 * kGpuChunk}, {"chunk", kGpuChunk}});
  producer.ok("fill", {{"mem", "m"}, {"seed", 1}});
  const Answer exported = producer.ok("export", {{"mem", "m"}, {"name", "x"}});
  const std::string key = exported.text("key");
  consumer.ok("import", {{"import", "old"}, {"key", key}});
  consumer.ok("import", {{"import", "named"}, {"name", "x"}});
  consumer.ok("check", {{"import", "old"}, {"seed", 1}});
  consumer.ok("close_import", {{"import", "named"}});  // stays in the cache
  producer.ok("withdraw");
  EXPECT_EQ(consumer.call("import", {{"import", "again"}, {"key", key}}).status, HB_GONE);
  EXPECT_EQ(consumer.call("import", {{"import", "again"}, {"name", "x"}}).status, HB_NOT_FOUND);
  producer.ok("free");

  // The address that is free now.
  const auto alloc_there = [&](const std::string& name) {
    const Answer again =
        producer.ok("alloc", {{"mem", name}, {"bytes", 2 * kGpuChunk}, {"chunk", kGpuChunk}});
    EXPECT_EQ(again.number("ptr"), first.number("ptr"));
    return name;
  };
  const std::string there = alloc_there("second");
  producer.ok("fill", {{"mem", there}, {"seed", 2}});
  const Answer now = producer.ok("export", {{"export", "e2"}, {"mem", there}, {"name", "x"}});
  EXPECT_GT(now.number("generation"), exported.number("generation"));
  EXPECT_NE(now.text("key"), key);

  EXPECT_EQ(consumer.call("import", {{"import", "again"}, {"key", key}}).status, HB_STALE);
  EXPECT_EQ(producer.call("import", {{"import", "own"}, {"key", key}, {"alias", 1}}).status, HB_STALE);
  const Answer fresh = consumer.ok("import", {{"import", "new"}, {"name", "x"}});
  EXPECT_EQ(fresh.number("generation"), now.number("generation"));
  consumer.ok("check", {{"import", "new"}, {"seed", 2}});
  EXPECT_EQ(consumer.ok("current", {{"import", "old"}}).number("current"), 0u);
  consumer.ok("check", {{"import", "old"}, {"seed", 1}});  // who held it keeps it
  EXPECT_EQ(consumer.ok("stats").number("imports"), 3u);   // nothing of the new came from the cache

  // Freed without a withdrawal, the old sharing lives on with its own bytes, whatever is at its address.
  producer.ok("free", {{"mem", there}});
  producer.ok("fill", {{"mem", alloc_there("third")}, {"seed", 3}});
  consumer.ok("close_import", {{"import", "new"}});
  const Answer still = consumer.ok("import", {{"import", "still"}, {"key", now.text("key")}, {"offset", 8}});
  EXPECT_EQ(still.number("generation"), now.number("generation"));
  consumer.ok("check", {{"import", "still"}, {"seed", 2}, {"at", 8}});
  consumer.leave();
  producer.leave();
}

TEST_P(GpuReports, B17_OneImportAndOneMapForAllThatAskAndOneUnmap) {
  Actor producer = actor();
  Actor consumer = actor();
  producer.ok("alloc", {{"bytes", kGpuChunk}});
  producer.ok("fill", {{"mem", "m"}, {"seed", 1}});
  producer.ok("export", {{"mem", "m"}, {"name", "x"}});
  const Answer before = consumer.ok("control");
  const auto made_since = [&](const char* call) {
    return consumer.ok("control").number(call) - before.number(call);
  };
  const Answer two = consumer.ok("together", {{"threads", 2}, {"name", "x"}});
  const Answer third = consumer.ok("import", {{"import", "2"}, {"name", "x"}});
  EXPECT_EQ(two.number("ptr0"), two.number("ptr1"));
  EXPECT_EQ(third.number("ptr"), two.number("ptr0"));
  EXPECT_EQ(made_since("hipMemImportFromShareableHandle"), 1u);
  EXPECT_EQ(made_since("hipMemMap"), 1u);
  EXPECT_EQ(producer.ok("who").number("count"), 1u);
  for (const char* one : {"0", "1"}) {
    consumer.ok("close_import", {{"import", one}});
    EXPECT_EQ(made_since("hipMemUnmap"), 0u);
    consumer.ok("check", {{"import", "2"}, {"seed", 1}});
  }
  consumer.ok("close_import", {{"import", "2"}});
  EXPECT_EQ(made_since("hipMemUnmap"), 1u);
  EXPECT_EQ(consumer.ok("control").number("mappings"), 0u);
  EXPECT_TRUE(poll_until([&] { return producer.ok("who").number("count") == 0; }));

  // Of an owner in C++ there is no fourth: what is given back is empty. In C, it is the caller's fault.
  consumer.ok("given_back_twice", {{"name", "x"}});
  EXPECT_EQ(made_since("hipMemUnmap"), 2u);
  EXPECT_EQ(consumer.ok("control").number("violations"), 0u);
  consumer.leave();
  producer.leave();
}

TEST_P(GpuReports, B18_MemoryUnderTwoNamesIsOneAllocation) {
  Actor producer = actor();
  RawPeer admin = admin_peer();
  producer.ok("alloc", {{"bytes", kGpuChunk}});
  producer.ok("alloc", {{"mem", "other"}, {"bytes", kGpuChunk}});
  const std::size_t before = daemon().fd_count();
  const auto share = [&](const std::string& name, const std::string& mem) {
    producer.ok("export", {{"export", name}, {"mem", mem}, {"name", name}});
    return producer.ok("show", {{"name", name}}).number("0.allocation");
  };
  const std::uint64_t p = share("p", "m");
  EXPECT_EQ(share("q", "m"), p);
  EXPECT_NE(share("r", "other"), p);
  expect_fds(before + 2, "allocations held");
  EXPECT_EQ(admin.status().reply.allocations(), 2u);
  EXPECT_EQ(admin.status().reply.bytes(), 2 * kGpuChunk);
  producer.ok("withdraw", {{"export", "p"}});
  Actor consumer = actor();
  consumer.ok("import", {{"name", "q"}});
  consumer.leave();
  producer.leave();
}

// Versions by what they answer at run time, patches and unknown newer ones among them.
class GpuVersionForms : public EveryMemory {};
HB_GPU_VERSIONS(GpuVersionForms, "6.2.41133", "6.4.43482", "7.0.2", "7.0.51831", "7.0.99999", "7.1.0",
                "7.1.25424", "7.2.1", "7.11", "7.13.5", "7.16", "7.20", "8.0", "9.3.1");

TEST_P(GpuVersionForms, B20_EachGetsTheFormOfTheDescriptorThatItReads) {
  Actor producer = actor();
  Actor consumer = actor();
  producer.ok("alloc", {{"bytes", 3 * kGpuChunk}, {"chunk", kGpuChunk}, {"peers", "1"}});
  producer.ok("fill", {{"mem", "m"}, {"seed", 1}});
  producer.ok("export", {{"mem", "m"}, {"name", "kv"}});
  consumer.ok("import", {{"name", "kv"}, {"peers", "1"}});
  for (const int device : {1, 2}) consumer.ok("check", {{"import", "i"}, {"seed", 1}, {"on", device}});
  EXPECT_EQ(consumer.ok("control").number("violations"), 0u);
  consumer.ok("close_import");
  consumer.leave();
  producer.leave();
}

}  // namespace
}  // namespace hb::test
