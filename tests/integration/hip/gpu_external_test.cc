// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// HB_MAP_EXTERNAL: one chunk for one device, where a runtime cannot import the other way.
#include "integration/hip/gpu_fixture.h"
#include "support/temp_dir.h"

namespace hb::test {
namespace {

using GpuExternal = Gpu;
HB_EVERY_GPU_VERSION(GpuExternal);

constexpr std::uint64_t kExternal = HB_MAP_EXTERNAL;

TEST_P(GpuExternal, OneChunkForTheCurrentDevice) {
  Actor producer = gpu_actor();
  Actor consumer = gpu_actor();
  export_kv(producer, 3);
  const std::string before = consumer.ok("fake").text("state");
  consumer.ok("set_device", {{"device", 1}});
  const Answer imported = consumer.ok(
      "import", {{"name", "kv"}, {"mapping", kExternal}, {"offset", kGpuChunk + 4096}, {"bytes", 8192}});
  EXPECT_EQ(consumer.ok("fake").number("null_stream"), 0u);
  EXPECT_EQ(imported.number("mapping"), kExternal);
  EXPECT_EQ(imported.number("bytes"), 8192u);
  EXPECT_EQ(imported.text("ordinal"), "2");
  EXPECT_EQ(imported.text("peers"), "GPU-f00d000000000001=1+");
  EXPECT_EQ(imported.text("host_granted"), "0");
  consumer.ok("gpu_check", {{"import", "i"}, {"on", 1}, {"seed", 1}, {"at", kGpuChunk + 4096}});

  // For the device that is current then, not for the one before.
  consumer.ok("set_device", {{"device", 2}});
  const Answer other = consumer.ok("import", {{"import", "o"},
                                              {"name", "kv"},
                                              {"mapping", kExternal},
                                              {"offset", kGpuChunk + 4096},
                                              {"bytes", 8192}});
  EXPECT_NE(other.number("ptr"), imported.number("ptr"));
  EXPECT_EQ(other.text("peers"), "");
  consumer.ok("gpu_check", {{"import", "o"}, {"on", 2}, {"seed", 1}, {"at", kGpuChunk + 4096}});
  const Answer vmm = consumer.ok("import", {{"import", "v"}, {"name", "kv"}});
  EXPECT_EQ(vmm.number("mapping"), std::uint64_t{HB_MAP_VMM});
  EXPECT_EQ(consumer.ok("fake").number("externals"), 2u);

  // It came from another process all the same.
  EXPECT_EQ(consumer.call("export", {{"import", "o"}, {"mem", "o"}, {"bytes", 4096}, {"name", "x"}}).status,
            HB_NOT_SHAREABLE);
  for (const char* name : {"i", "o", "v"}) consumer.ok("close_import", {{"import", name}});
  consumer.ok("set_device", {{"device", 0}});
  const Answer after = consumer.ok("fake");
  EXPECT_EQ(after.text("state"), before);
  EXPECT_EQ(after.number("externals"), 0u);
  // For that device alone. Last, since the copy that fails leaves its error.
  consumer.ok("import", {{"name", "kv"}, {"mapping", kExternal}, {"bytes", 4096}});
  EXPECT_EQ(consumer.call("gpu_check", {{"import", "i"}, {"on", 1}, {"seed", 1}}).status, 1);
  consumer.ok("close_import");
  EXPECT_TRUE(poll_until([&] { return producer.ok("who").number("count") == 0; }));
  consumer.leave();
  producer.leave();
}

TEST_P(GpuExternal, WhatItCannotDoIsRefusedByName) {
  Actor producer = gpu_actor();
  Actor consumer = gpu_actor();
  export_kv(producer, 3);
  producer.ok("alloc", {{"mem", "h"}, {"bytes", 4096}});
  producer.ok("export", {{"mem", "h"}, {"export", "h"}, {"name", "host"}});
  const std::string before = consumer.ok("fake").text("state");
  const auto refused = [&](const char* what, const Value& value, hb_status status, const char* word) {
    Message asked{{"name", "kv"}, {"mapping", kExternal}, {"bytes", 4096}};
    asked.erase(what);
    asked.emplace(what, value);
    const Answer answer = consumer.call("import", asked);
    EXPECT_EQ(answer.status, status) << what << ": " << answer;
    EXPECT_NE(answer.message().find(word), std::string::npos) << what << ": " << answer;
  };
  refused("bytes", 2 * kGpuChunk, HB_UNSUPPORTED, "touches 2");
  refused("address", 0x6100'0000'0000, HB_INVALID, "address");
  refused("peers", "1", HB_INVALID, "peer_count");
  refused("peers", "exporter", HB_INVALID, "peer_count");
  refused("host", HB_HOST_REQUIRE, HB_UNSUPPORTED, "HB_MAP_VMM");
  refused("alias", 1, HB_INVALID, "alias");
  refused("mapping", 2, HB_INVALID, "HB_MAP_EXTERNAL");
  refused("name", "host", HB_INVALID, "host memory");
  EXPECT_EQ(consumer.ok("fake").text("state"), before);
  EXPECT_EQ(producer.ok("who").number("count"), 0u);
  consumer.leave();
  producer.leave();
}

// The probe says no: the error names this way, and it is not taken unasked.
TEST_P(GpuExternal, IsTheNamedWayOutWhereImportsAreImpossible) {
  const TempDir cache;
  Actor producer = gpu_actor();
  export_kv(producer, 1);
  Actor off = gpu_actor({{"HIPBROKER_PROBE", "off"}, {"XDG_CACHE_HOME", cache / "elsewhere"}});
  const Answer refused = off.call("import", {{"name", "kv"}});
  EXPECT_EQ(refused.status, HB_UNSUPPORTED) << refused;
  EXPECT_NE(refused.message().find("HB_MAP_EXTERNAL"), std::string::npos) << refused;
  off.ok("import", {{"name", "kv"}, {"mapping", kExternal}});
  off.ok("gpu_check", {{"import", "i"}, {"on", 0}, {"seed", 1}});
  off.leave();
  producer.leave();
}

TEST_P(GpuExternal, EveryCallThatFailsLeavesNothing) {
  Actor producer = gpu_actor();
  Actor consumer = gpu_actor();
  export_kv(producer, 1);
  const auto import = [&] {
    const Answer answer = consumer.call("import", {{"name", "kv"}, {"mapping", kExternal}});
    if (answer.status == HB_OK) consumer.ok("close_import");
    return answer;
  };
  ASSERT_EQ(import().status, HB_OK);
  const std::string before = consumer.ok("fake").text("state");
  int refusals = 0;
  for (std::uint64_t k = 1;; ++k) {
    ASSERT_LT(k, 100u);
    consumer.ok("arm", {{"control", "fail=any:" + std::to_string(k)}});
    const Answer answer = import();
    const Answer now = consumer.ok("fake", {{"control", "fail="}});
    ASSERT_EQ(now.text("state"), before) << k << ": " << answer;
    ASSERT_EQ(now.number("externals"), 0u) << k << ": " << answer;
    EXPECT_TRUE(poll_until([&] { return producer.ok("who").number("count") == 0; }));
    if (answer.status != HB_OK) {
      ++refusals;
      EXPECT_NE(answer.message().find("hipErrorUnknown (999)"), std::string::npos) << k << ": " << answer;
      EXPECT_NE(answer.message().find(answer.text("operation")), std::string::npos) << k << ": " << answer;
      if (answer.text("operation").find("External") != std::string::npos) {
        EXPECT_EQ(answer.text("chunk"), "0") << k << ": " << answer;
      }
    }
    if (now.number("calls") < k) break;
  }
  EXPECT_GE(refusals, 4);
  consumer.leave();
  producer.leave();
}

}  // namespace
}  // namespace hb::test
