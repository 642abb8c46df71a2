// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Descriptors are few (field report B21), and runtimes are not what they say.
#include <algorithm>

#include "integration/hip/gpu_fixture.h"
#include "support/fd_census.h"
#include "support/temp_dir.h"

namespace hb::test {
namespace {

using GpuLimits = Gpu;
HB_EVERY_GPU_VERSION(GpuLimits);

TEST_P(GpuLimits, B21_AThousandChunksWithRoomForFewDescriptors) {
  constexpr std::uint64_t kMany = 1000;
  constexpr std::uint64_t kLimit = 256;
  const bool for_each_made = is({"7.14"});
  const bool for_each_imported = is({"7.14", "7.15"});
  const Variables warm{{"HB_GPU_WARM", for_each_made ? "1" : std::to_string(kMany)}};
  Actor producer = gpu_actor(warm, for_each_made ? 4096 : kLimit);
  Actor consumer = gpu_actor(warm, kLimit);
  producer.ok("alloc", {{"provider", HB_PROVIDER_HIP}, {"bytes", kMany * kGpuChunk}, {"chunk", kGpuChunk}});
  producer.ok("gpu_fill", {{"mem", "m"}, {"seed", 1}, {"stride", kGpuChunk}});
  producer.ok("export", {{"mem", "m"}, {"name", "kv"}});
  const std::string before = consumer.ok("fake").text("state");
  std::size_t most = 0;
  consumer.start("import", {{"name", "kv"}});
  while (!consumer.answered()) most = std::max(most, count_fds(consumer.pid()));
  const Answer imported = consumer.finish();
  EXPECT_LT(most, kLimit);  // as far as looking often shows
  if (for_each_imported) {
    EXPECT_EQ(imported.status, HB_NO_FDS) << imported;

    EXPECT_EQ(imported.text("what"), "RLIMIT_NOFILE");
    EXPECT_EQ(imported.number("limit"), kLimit);
    EXPECT_GT(imported.number("used"), kMany);
    for (const std::string& word :
         {std::string("RLIMIT_NOFILE"), std::to_string(kLimit), std::to_string(imported.number("used"))})
      EXPECT_NE(imported.message().find(word), std::string::npos) << word << ": " << imported;
    EXPECT_EQ(consumer.ok("fake").text("state"), before);
    EXPECT_TRUE(poll_until([&] { return producer.ok("who").number("count") == 0; }));
  } else {
    EXPECT_EQ(imported.status, HB_OK) << imported;
    EXPECT_EQ(imported.number("chunks"), kMany);
    consumer.ok("gpu_check", {{"import", "i"}, {"seed", 1}, {"stride", kGpuChunk}});
  }
  if (for_each_made) {  // the memory itself cannot be had with so few
    const Answer alloc = consumer.call(
        "alloc", {{"provider", HB_PROVIDER_HIP}, {"bytes", kMany * kGpuChunk}, {"chunk", kGpuChunk}});
    EXPECT_EQ(alloc.status, HB_NO_FDS) << alloc;
    EXPECT_EQ(consumer.ok("fake").text("state"), before);
  }
  consumer.leave();
  producer.leave();
}

// What no version of the table says: the client classifies and goes on.
TEST_P(GpuLimits, B20_ARuntimeThatDoesNotKnowTheAttribute) {
  const Variables unknown{{"FAKE_HIP_SWITCHES", "vmm_attribute_unknown=1"}};
  Actor producer = gpu_actor(unknown);
  Actor consumer = gpu_actor(unknown);
  export_kv(producer, 1);
  consumer.ok("import", {{"name", "kv"}});
  consumer.ok("gpu_check", {{"import", "i"}, {"on", 2}, {"seed", 1}});
  consumer.leave();
  producer.leave();
}

TEST_P(GpuLimits, TheProbeDecidesAndSaysWhy) {
  const TempDir cache;
  const Variables probing{{"HIPBROKER_PROBE", "auto"},
                          {"HIPBROKER_PROBE_HELPER", HIP_PROBE_HELPER},
                          {"XDG_CACHE_HOME", cache.path()}};
  Actor producer = gpu_actor(probing);
  Actor consumer = gpu_actor(probing);
  const Answer probed = producer.ok("probe", {{"device", 2}});
  EXPECT_EQ(probed.text("source"), "run") << probed;
  EXPECT_EQ(probed.text("uuid"), kU2);
  EXPECT_EQ(probed.number("export"), std::uint64_t{HB_ANSWER_YES}) << probed;
  EXPECT_EQ(probed.number("import"), std::uint64_t{HB_ANSWER_YES}) << probed;
  const bool imports = is({"7.2", "7.14"});
  EXPECT_EQ(probed.number("host_on_import"), std::uint64_t{imports ? HB_ANSWER_YES : HB_ANSWER_NO}) << probed;
  EXPECT_EQ(probed.text("host_on_import_reason").empty(), imports);
  export_kv(producer, 3);
  EXPECT_EQ(consumer.ok("probe", {{"device", 2}}).text("source"), "remembered");
  consumer.ok("import", {{"name", "kv"}});
  consumer.ok("gpu_check", {{"import", "i"}, {"on", 2}, {"seed", 1}});

  Actor off = gpu_actor({{"HIPBROKER_PROBE", "off"}, {"XDG_CACHE_HOME", cache / "elsewhere"}});
  const Answer refused = off.call("import", {{"name", "kv"}});
  EXPECT_EQ(refused.status, HB_UNSUPPORTED) << refused;
  EXPECT_NE(refused.message().find("HIPBROKER_PROBE=off"), std::string::npos) << refused;
  EXPECT_EQ(off.call("alloc", {{"provider", HB_PROVIDER_HIP}, {"bytes", 1}}).status, HB_UNSUPPORTED);
  off.leave();
  consumer.leave();
  producer.leave();
}

// The chunk before the byte asked for would begin at address 0, and a wish for that is none.
TEST_P(GpuLimits, AWishedAddressWithoutRoomForWhatComesBefore) {
  Actor producer = gpu_actor();
  Actor consumer = gpu_actor();
  producer.ok("alloc", {{"provider", HB_PROVIDER_HIP}, {"device", 2}, {"bytes", 4 * kGpuChunk}});
  producer.ok("export", {{"mem", "m"}, {"name", "kv"}});
  for (const std::uint64_t address : {kGpuChunk, 2 * kGpuChunk}) {
    const Answer refused =
        consumer.call("import", {{"name", "kv"}, {"offset", 2 * kGpuChunk}, {"address", address}});
    EXPECT_EQ(refused.status, HB_ADDRESS) << refused;
  }
  consumer.leave();
  producer.leave();
}

// HIP 7.14 answers with a number of its own, of which a duplicate is made: without room for that the number
// must not stay open.
TEST_P(GpuLimits, AnExportWithoutRoomForDescriptorsLeavesNothing) {
  for (const std::uint64_t room : {0, 1, 2, 3, 4}) {
    Actor producer = gpu_actor();
    producer.ok("alloc", {{"provider", HB_PROVIDER_HIP}, {"device", 2}, {"bytes", kGpuChunk}});
    producer.ok("limit", {{"free", room}});
    const Answer exported = producer.call("export", {{"mem", "m"}, {"name", "kv"}});
    if (exported.status != HB_OK) {
      EXPECT_EQ(exported.status, HB_NO_FDS) << exported;
      EXPECT_NE(exported.message().find("RLIMIT_NOFILE"), std::string::npos) << exported;
    }
    producer.ok("limit", {{"free", 100}});
    producer.leave();  // its census and the runtime's
  }
}

TEST_P(GpuLimits, WhatCannotBeAskedOfGpuMemory) {
  Actor actor = gpu_actor();
  const Message gpu{{"provider", HB_PROVIDER_HIP}, {"bytes", 1}};
  const auto with = [&](const char* name, const Value& value) {
    Message asked = gpu;
    asked.emplace(name, value);
    return actor.call("alloc", asked);
  };
  EXPECT_EQ(with("sealed", 1).status, HB_INVALID);
  EXPECT_EQ(with("device", 4).status, HB_DEVICE);
  EXPECT_EQ(with("device", -2).status, HB_DEVICE);
  EXPECT_EQ(with("peers", "1 9").status, HB_DEVICE);
  EXPECT_EQ(with("host", 3).status, HB_INVALID);
  EXPECT_EQ(actor.call("alloc", {{"bytes", 4096}, {"peers", "1"}}).status, HB_INVALID);
  EXPECT_EQ(actor.ok("fake").number("reservations"), 0u);
  EXPECT_EQ(with("peers", "all").status, HB_OK);
  EXPECT_EQ(actor.ok("alloc", {{"mem", "n"}, {"provider", HB_PROVIDER_HIP}, {"bytes", 1}, {"device", -1}})
                .text("uuid"),
            "GPU-f00d000000000000");
  actor.leave();
}

}  // namespace
}  // namespace hb::test
