// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// GPU memory from one process to another: the unchanged client and daemon over the shim.
#include "gpu/gpu_fixture.h"

namespace hb::test {
namespace {

// Without a GPU there is no case of the others: this one says so.
TEST(GpuMachine, HasAGpu) {
  EXPECT_GE(gpu_machine().devices, 1) << gpu_machine().libcuda << " shows no GPU";
  std::printf("FACT %d GPU(s) by %s\n", gpu_machine().devices, gpu_machine().libcuda.c_str());
}

class GpuWay : public GpuTest {};
HB_GPU_CASES(GpuWay, gpu_cases);

TEST_P(GpuWay, TheProbeGoesThroughTheWholeCycle) {
  Actor actor = gpu_actor();
  const Answer probed = actor.ok("probe");
  EXPECT_NE(probed.text("runtime").find("HIP " + GetParam().version), std::string::npos) << probed;
  EXPECT_EQ(probed.number("export"), std::uint64_t{HB_ANSWER_YES}) << probed;
  EXPECT_EQ(probed.number("import"), std::uint64_t{HB_ANSWER_YES}) << probed;
  EXPECT_EQ(probed.number("query_safe"), std::uint64_t{HB_ANSWER_YES}) << probed;
  // No NVIDIA GPU lets the CPU in, and the reason is one to act on.
  EXPECT_EQ(probed.number("host_on_own"), std::uint64_t{HB_ANSWER_NO}) << probed;
  EXPECT_EQ(probed.number("host_on_import"), std::uint64_t{HB_ANSWER_NO}) << probed;
  EXPECT_NE(probed.text("host_on_own_reason"), "") << probed;
  EXPECT_EQ(probed.text("uuid").size(), 20u) << probed;
  EXPECT_EQ(probed.text("pci").size(), 12u) << probed;
  EXPECT_EQ(actor.ok("probe").text("runtime"), probed.text("runtime"));
  actor.leave();
}

TEST_P(GpuWay, BytesGoBothWays) {
  for (const std::uint64_t chunks : {1, 3}) {
    Actor producer = gpu_actor();
    Actor consumer = gpu_actor();
    const std::string before = consumer.ok("gpu_state").text("state");
    const Answer made = export_kv(producer, chunks * kGpuChunk, kGpuChunk);
    EXPECT_EQ(made.number("chunks"), chunks);
    EXPECT_EQ(made.text("host_granted"), "0");
    const Answer imported = consumer.ok("import", {{"name", "kv"}, {"access", HB_ACCESS_READ_WRITE}});
    EXPECT_EQ(imported.number("bytes"), chunks * kGpuChunk);
    EXPECT_EQ(imported.number("chunks"), chunks);
    EXPECT_EQ(imported.text("uuid"), made.text("uuid"));
    EXPECT_EQ(imported.text("pci"), made.text("pci"));
    EXPECT_EQ(imported.number("kind"), std::uint64_t{GetParam().own_kind() ? HB_KIND_DRIVER : HB_KIND_MEMFD});
    EXPECT_EQ(consumer.ok("gpu_state").text("state"), before);
    check(consumer, {{"import", "i"}}, 1);
    fill(consumer, {{"import", "i"}}, 2);
    check(producer, {{"mem", "m"}}, 2);
    fill(producer, {{"mem", "m"}}, 3);
    check(consumer, {{"import", "i"}}, 3);
    consumer.ok("close_import");
    EXPECT_EQ(consumer.ok("gpu_state").text("state"), before);
    consumer.leave();
    producer.leave();
  }
}

// Device memory is not the CPU's here: `prefer` says so in its answer, `require` is refused by name.
TEST_P(GpuWay, TheCpuStaysOutVisibly) {
  Actor producer = gpu_actor();
  Actor consumer = gpu_actor();
  const Answer made = producer.ok("alloc", {{"provider", HB_PROVIDER_HIP},
                                            {"bytes", 3 * kGpuChunk},
                                            {"chunk", kGpuChunk},
                                            {"host", HB_HOST_PREFER}});
  EXPECT_EQ(made.text("host_granted"), "0");
  EXPECT_EQ(producer.ok("cpu_reads", {{"mem", "m"}}).text("reads"), "0");
  fill(producer, {{"mem", "m"}}, 1);
  producer.ok("export", {{"mem", "m"}, {"name", "kv"}});
  EXPECT_EQ(consumer.ok("import", {{"name", "kv"}, {"host", HB_HOST_PREFER}}).text("host_granted"), "0");
  EXPECT_EQ(consumer.ok("cpu_reads", {{"import", "i"}}).text("reads"), "0");
  check(consumer, {{"import", "i"}}, 1);

  const std::string before = consumer.ok("gpu_state").text("state");
  const Answer import = consumer.call("import", {{"import", "r"}, {"name", "kv"}, {"host", HB_HOST_REQUIRE}});
  EXPECT_EQ(import.status, HB_UNSUPPORTED) << import;
  EXPECT_NE(import.message().find("host_on_import"), std::string::npos) << import;
  const Answer alloc = consumer.call(
      "alloc", {{"mem", "r"}, {"provider", HB_PROVIDER_HIP}, {"bytes", 1}, {"host", HB_HOST_REQUIRE}});
  EXPECT_EQ(alloc.status, HB_UNSUPPORTED) << alloc;
  EXPECT_NE(alloc.message().find("host_on_own"), std::string::npos) << alloc;
  EXPECT_EQ(consumer.ok("gpu_state").text("state"), before);
  consumer.leave();
  producer.leave();
}

TEST_P(GpuWay, PartsAndWishedAddresses) {
  Actor producer = gpu_actor();
  Actor consumer = gpu_actor();
  export_kv(producer, 4 * kGpuChunk, kGpuChunk);
  // The end of chunk 1, all of chunk 2, the start of chunk 3.
  const std::uint64_t at = 2 * kGpuChunk - 4096;
  const Answer part = consumer.ok("import", {{"name", "kv"}, {"offset", at}, {"bytes", kGpuChunk + 8192}});
  EXPECT_EQ(part.number("bytes"), kGpuChunk + 8192);
  EXPECT_EQ(part.number("ptr") % kGpuChunk, kGpuChunk - 4096);
  check(consumer, {{"import", "i"}, {"at", at}}, 1);

  // Where the import just closed was, 4 KiB further: a place that this driver gives.
  consumer.ok("close_import");
  const std::uint64_t wish = part.number("ptr") / kGpuChunk * kGpuChunk + 4096;
  const Answer wished = consumer.call(
      "import", {{"import", "w"}, {"name", "kv"}, {"offset", 4096}, {"bytes", 4096}, {"address", wish}});
  if (gpu_machine().real && wished.status == HB_ADDRESS) {  // a wish is a hint to libcuda
    std::printf("FACT the wished address was not given: %s\n", wished.message().c_str());
  } else {
    EXPECT_EQ(wished.status, HB_OK) << wished;
    EXPECT_EQ(wished.number("ptr"), wish);
    check(consumer, {{"import", "w"}, {"at", 4096}}, 1);
  }

  // Memory exported as a part of it: whole chunks are mapped around it.
  producer.ok("export", {{"export", "p"}, {"mem", "m"}, {"offset", at}, {"bytes", 8192}, {"name", "part"}});
  EXPECT_EQ(consumer.ok("import", {{"import", "c"}, {"name", "part"}}).number("bytes"), 8192u);
  check(consumer, {{"import", "c"}, {"at", at}}, 1);
  consumer.leave();
  producer.leave();
}

TEST_P(GpuWay, AnImportIsNotExportedAgain) {
  Actor producer = gpu_actor();
  Actor consumer = gpu_actor();
  export_kv(producer, kGpuChunk, kGpuChunk);
  consumer.ok("import", {{"name", "kv"}});
  const std::string before = consumer.ok("gpu_state").text("state");
  const Answer again =
      consumer.call("export", {{"import", "i"}, {"mem", "i"}, {"bytes", 4096}, {"name", "mine"}});
  EXPECT_EQ(again.status, HB_NOT_SHAREABLE) << again;
  EXPECT_EQ(consumer.ok("gpu_state").text("state"), before);
  consumer.leave();
  producer.leave();
}

class GpuMany : public GpuTest {};
HB_GPU_CASES(GpuMany, few_gpu_cases);

// 2 GB in pieces of 2 MiB, by processes that may open few descriptors: each runs through them in pages.
TEST_P(GpuMany, AThousandChunksWithRoomForFewDescriptors) {
  constexpr std::uint64_t kMany = 1000;
  constexpr std::uint64_t kLimit = 256;
  const Variables warm{{"HB_GPU_WARM", gpu_machine().real ? "1" : std::to_string(kMany)}};
  Actor producer = gpu_actor(warm, kLimit);
  Actor consumer = gpu_actor(warm, kLimit);
  const std::string before = consumer.ok("gpu_state").text("state");
  const Answer made = export_kv(producer, kMany * kGpuChunk, kGpuChunk, kGpuChunk);
  EXPECT_EQ(made.number("chunks"), kMany);
  const Answer imported = consumer.ok("import", {{"name", "kv"}, {"access", HB_ACCESS_READ_WRITE}});
  EXPECT_EQ(imported.number("chunks"), kMany);
  EXPECT_EQ(consumer.ok("gpu_state").text("state"), before);
  check(consumer, {{"import", "i"}}, 1, kGpuChunk);
  fill(consumer, {{"import", "i"}}, 2, kGpuChunk);
  check(producer, {{"mem", "m"}}, 2, kGpuChunk);
  consumer.leave();
  producer.leave();
}

}  // namespace
}  // namespace hb::test
