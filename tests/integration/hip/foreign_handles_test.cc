// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Memory of hipMemCreate that a program exports by its handles: the way of PyTorch and vLLM.
#include "integration/hip/gpu_fixture.h"

namespace hb::test {
namespace {

using ForeignHandles = Gpu;
HB_EVERY_GPU_VERSION(ForeignHandles);

constexpr const char* kUneven = "2097152 6291456 4194304";
constexpr std::uint64_t kUnevenBytes = 6 * kGpuChunk;

TEST_P(ForeignHandles, ChunksOfDifferentSizesAreOneRange) {
  Actor producer = gpu_actor();
  Actor consumer = gpu_actor();
  producer.ok("hip_vmm", {{"sizes", kUneven}});
  producer.ok("gpu_fill", {{"raw", "r"}, {"on", 2}, {"seed", 1}});
  const std::string before = producer.ok("fake").text("state");
  const Answer shared = producer.ok("share", {{"raw", "r"}, {"by", "handles"}, {"name", "kv"}});
  EXPECT_EQ(shared.number("bytes"), kUnevenBytes);
  EXPECT_EQ(producer.ok("fake").text("state"), before);  // no descriptor stays, the device is as it was
  const Answer imported = consumer.ok("import", {{"name", "kv"}});
  EXPECT_EQ(imported.number("chunks"), 3u);
  EXPECT_EQ(imported.text("uuid"), kU2);  // asked of the runtime
  consumer.ok("gpu_check", {{"import", "i"}, {"on", 2}, {"seed", 1}});
  const std::uint64_t middle = 3 * kGpuChunk;
  consumer.ok("import", {{"import", "p"}, {"name", "kv"}, {"offset", middle}, {"bytes", 8192}});
  consumer.ok("gpu_check", {{"import", "p"}, {"on", 2}, {"seed", 1}, {"at", middle}});
  consumer.leave();
  producer.ok("withdraw");
  producer.ok("hip_free");
  producer.leave();
}

TEST_P(ForeignHandles, MappedNowhereAndTheDeviceNamed) {
  Actor producer = gpu_actor();
  Actor consumer = gpu_actor();
  producer.ok("hip_vmm", {{"map", 0}, {"devices", "1"}});
  // The program's own export first: on some runtimes it answers the number that ours answers, too.
  const Answer own = producer.ok("hip_export");
  const Message share{{"raw", "r"},
                      {"by", "handles"},
                      {"name", "kv"},
                      {"uuid", "GPU-f00d000000000001"},
                      {"pci", "0000:23:00.0"}};
  producer.ok("share", share);
  EXPECT_EQ(producer.ok("hip_export").number("inode"), own.number("inode"));  // it is still open
  EXPECT_EQ(consumer.ok("import", {{"name", "kv"}}).text("uuid"), "GPU-f00d000000000001");
  consumer.leave();
  producer.ok("hip_free");
  producer.ok("hip_export", {{"close", 1}});
  producer.leave();
}

// Field report B18: the same handle twice is one allocation.
TEST_P(ForeignHandles, B18TwoExportsOfOneHandleAreOneAllocation) {
  Actor producer = gpu_actor();
  Actor consumer = gpu_actor();
  producer.ok("hip_vmm");
  producer.ok("hip_vmm", {{"raw", "other"}});
  producer.ok("gpu_fill", {{"raw", "r"}, {"on", 2}, {"seed", 1}});
  const std::size_t before = daemon().fd_count();
  producer.ok("share", {{"raw", "r"}, {"by", "handles"}, {"name", "p"}, {"export", "p"}});
  producer.ok("share", {{"raw", "r"}, {"by", "handles"}, {"name", "q"}, {"export", "q"}});
  producer.ok("share", {{"raw", "other"}, {"by", "handles"}, {"name", "r"}, {"export", "r"}});
  expect_fds(before + 2, "p and q are one allocation, r another");
  const auto allocation = [&](const char* name) {
    return producer.ok("show", {{"name", name}}).number("0.allocation");
  };
  EXPECT_EQ(allocation("p"), allocation("q"));
  EXPECT_NE(allocation("p"), allocation("r"));
  producer.ok("withdraw", {{"export", "p"}});
  consumer.ok("import", {{"name", "q"}});
  consumer.ok("gpu_check", {{"import", "i"}, {"on", 2}, {"seed", 1}});
  consumer.leave();
  producer.ok("hip_free");
  producer.ok("hip_free", {{"raw", "other"}});
  producer.leave();
}

TEST_P(ForeignHandles, WhatIsRefusedAndWhy) {
  Actor producer = gpu_actor();
  const auto share = [&](Message more) {
    more.insert({{"raw", "r"}, {"by", "handles"}, {"name", "kv"}});
    return producer.call("share", more);
  };
  const auto says = [](const Answer& answer, const std::string& words) {
    EXPECT_NE(answer.message().find(words), std::string::npos) << words << ": " << answer;
  };
  // Larger than its allocation.
  producer.ok("hip_vmm", {{"sizes", "2097152 2097152"}});
  producer.ok("hip_export", {{"index", 1}});  // the number that 7.14 answers is the program's
  const std::string before = producer.ok("fake").text("state");
  const Answer larger = share({{"delta", kGpuChunk}});
  EXPECT_EQ(larger.status, HB_RANGE) << larger;
  EXPECT_EQ(larger.text("chunk"), "1");
  EXPECT_EQ(larger.number("used"), 2 * kGpuChunk);
  EXPECT_EQ(larger.number("limit"), kGpuChunk);
  const Answer nowhere = share({{"uuid", "GPU-f00d0000000000ff"}, {"pci", "0000:ff:00.0"}});
  EXPECT_EQ(nowhere.status, HB_DEVICE) << nowhere;
  EXPECT_EQ(producer.ok("fake").text("state"), before);
  producer.ok("hip_free");
  producer.ok("hip_export", {{"close", 1}});
  // On two GPUs.
  producer.ok("hip_vmm", {{"sizes", "2097152 2097152 2097152"}, {"devices", "1 1 2"}, {"map", 0}});
  const Answer mixed = share({{"nowhere", 1}});
  EXPECT_EQ(mixed.status, HB_MIXED) << mixed;
  EXPECT_EQ(mixed.text("chunk"), "2");
  says(mixed, "0000:83:00.0");
  producer.ok("hip_free");
  // Created without the descriptor type.
  producer.ok("hip_vmm", {{"type", 0}});
  const std::uint64_t calls = producer.ok("fake").number("export_calls");
  const Answer typeless = share({});
  EXPECT_EQ(typeless.status, HB_NOT_SHAREABLE) << typeless;
  says(typeless, "hipMemHandleTypePosixFileDescriptor");
  says(typeless, "by ptr");
  EXPECT_EQ(producer.ok("fake").number("export_calls"), calls);
  producer.ok("hip_free");
  EXPECT_EQ(producer.ok("list").text("names"), "");
  producer.leave();
}

// Where it is mapped tells that it came from elsewhere; the runtime is not even asked.
TEST_P(ForeignHandles, AnImportIsRefusedBeforeAnyDriverCall) {
  Actor producer = gpu_actor();
  Actor consumer = gpu_actor();
  export_kv(producer, 1);
  const Answer imported = consumer.ok("import", {{"name", "kv"}});
  consumer.ok("hip_vmm");
  consumer.ok("arm");
  const std::uint64_t first = consumer.ok("fake").number("calls");
  const std::uint64_t second = consumer.ok("fake").number("calls");
  const Answer again = consumer.call(
      "share", {{"raw", "r"}, {"by", "handles"}, {"base", imported.number("ptr")}, {"name", "x"}});
  EXPECT_EQ(again.status, HB_NOT_SHAREABLE) << again;
  EXPECT_EQ(again.text("chunk"), "0");
  EXPECT_NE(again.message().find("forward the key"), std::string::npos) << again;
  EXPECT_EQ(consumer.ok("fake").number("calls"), second + (second - first));
  consumer.ok("hip_free");
  consumer.leave();
  producer.leave();
}

// The runtime itself cannot: told apart from memory that cannot.
TEST_P(ForeignHandles, ARuntimeThatCannotShareIsUnsupported) {
  Actor producer = gpu_actor({{"HIPBROKER_PROBE", "off"}, {"XDG_CACHE_HOME", "/nonexistent"}});
  producer.ok("hip_vmm");
  const Answer handles = producer.call("share", {{"raw", "r"}, {"by", "handles"}});
  EXPECT_EQ(handles.status, HB_UNSUPPORTED) << handles;
  EXPECT_NE(handles.message().find("HIPBROKER_PROBE=off"), std::string::npos) << handles;
  const Answer pointer = producer.call("share", {{"raw", "r"}, {"claim", HB_MEMORY_VMM}});
  EXPECT_EQ(pointer.status, HB_UNSUPPORTED) << pointer;
  producer.ok("hip_free");
  producer.leave();
}

TEST_P(ForeignHandles, EveryCallFailsOnce) {
  Actor producer = gpu_actor();
  producer.ok("hip_vmm", {{"sizes", kUneven}});
  const auto attempt = [&] {
    return producer.call("share", {{"raw", "r"}, {"by", "handles"}, {"name", "kv"}});
  };
  ASSERT_EQ(attempt().status, HB_OK);
  producer.ok("withdraw");
  producer.ok("destroy");
  const std::string before = producer.ok("fake").text("state");
  int refusals = 0;
  for (std::uint64_t k = 1; k < 200; ++k) {
    producer.ok("arm", {{"control", "fail=any:" + std::to_string(k)}});
    const Answer answer = attempt();
    const Answer now = producer.ok("fake", {{"control", "fail="}});
    if (answer.status == HB_OK) {
      producer.ok("withdraw");
      producer.ok("destroy");
    } else {
      ++refusals;
      EXPECT_NE(answer.message().find("hipErrorUnknown (999)"), std::string::npos) << k << ": " << answer;
      EXPECT_EQ(answer.text("operation").find("hip"), 0u) << k << ": " << answer;
    }
    ASSERT_EQ(now.text("state"), before) << k << ": " << answer;
    EXPECT_EQ(producer.ok("list").text("names"), "");
    if (now.number("calls") < k) break;
  }
  EXPECT_GT(refusals, 5);
  producer.ok("hip_free");
  producer.leave();
}

}  // namespace
}  // namespace hb::test
