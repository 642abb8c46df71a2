// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Every driver call of a whole export and a whole import fails once, in turn: whatever it was, nothing is
// left over in the process or in the daemon, and the error says where.
#include <sys/wait.h>

#include <functional>

#include "integration/hip/gpu_fixture.h"

namespace hb::test {
namespace {

using GpuSweep = Gpu;
HB_EVERY_GPU_VERSION(GpuSweep);

// One try: the first refusal, or an answer of HB_OK after everything was given back.
using Operation = std::function<Answer()>;

void expect_named(const Answer& refused, long long k) {
  EXPECT_NE(refused.message().find("hipErrorUnknown (999)"), std::string::npos) << k << ": " << refused;
  const std::string call = refused.text("operation");
  EXPECT_EQ(call.find("hip"), 0u) << k << ": " << refused;
  EXPECT_NE(refused.message().find(call), std::string::npos) << k << ": " << refused;
  const bool of_a_chunk = call == "hipMemCreate" || call == "hipMemMap" || call == "hipMemSetAccess" ||
                          call.find("Shareable") != std::string::npos;
  if (!of_a_chunk) return;
  EXPECT_NE(refused.text("chunk"), "-1") << k << ": " << refused;
  EXPECT_NE(refused.message().find("chunk " + refused.text("chunk")), std::string::npos)
      << k << ": " << refused;
}

// Under a sanitizer the long ones take minutes: it is shown each eleventh of their calls.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr long long kStepOfMany = 11;
#else
constexpr long long kStepOfMany = 1;
#endif

void sweep(Actor& actor, const Operation& operation, const std::function<void()>& after, long long step = 1) {
  ASSERT_EQ(operation().status, HB_OK);  // what is made once for all is made
  const std::string before = actor.ok("fake").text("state");
  int refusals = 0;
  for (long long k = 1; k < 10'000; k += step) {
    actor.ok("arm", {{"control", "fail=any:" + std::to_string(k)}});
    const Answer answer = operation();
    const Answer now = actor.ok("fake", {{"control", "fail="}});
    ASSERT_EQ(now.text("state"), before) << k << ": " << answer;
    if (answer.status != HB_OK) {
      ++refusals;
      expect_named(answer, k);
    }
    after();
    if (testing::Test::HasFailure()) return;
    if (now.number("calls") < static_cast<std::uint64_t>(k)) {
      EXPECT_GT(refusals, 5);
      return;
    }
  }
  FAIL() << "ten thousand calls were not enough";
}

TEST_P(GpuSweep, EveryCallOfAnExporterFailsOnce) {
  for (const std::uint64_t chunks : {1, 3}) {
    Actor producer = gpu_actor();
    sweep(
        producer,
        [&] {
          const Answer made = producer.call("alloc", {{"provider", HB_PROVIDER_HIP},
                                                      {"device", 2},
                                                      {"bytes", chunks * kGpuChunk},
                                                      {"chunk", kGpuChunk},
                                                      {"peers", "1"},
                                                      {"host", HB_HOST_PREFER}});
          if (made.status != HB_OK) return made;
          EXPECT_EQ(producer.ok("arm").number("mappings"), chunks);
          Answer exported = producer.call("export", {{"mem", "m"}, {"name", "kv"}});
          if (exported.status == HB_OK) {
            producer.ok("withdraw");
            producer.ok("destroy");
          }
          producer.ok("free");
          return exported;
        },
        [&] { EXPECT_EQ(producer.ok("list").text("names"), ""); });
    EXPECT_TRUE(poll_until([&] { return producer.ok("fake", {{"line", 2}}).number("bytes") == 0; }));
    producer.leave();
  }
}

// One import for each try: asked for as `wanted`, of an export of so many chunks.
void sweep_import(Actor& producer, Actor& consumer, const Message& wanted, std::uint64_t mapped,
                  long long step = 1) {
  sweep(
      consumer,
      [&] {
        Answer imported = consumer.call("import", wanted);
        if (imported.status == HB_OK) {
          EXPECT_EQ(consumer.ok("arm").number("mappings"), mapped);  // whole
          consumer.ok("close_import");
        }
        return imported;
      },
      [&] { EXPECT_TRUE(poll_until([&] { return producer.ok("who").number("count") == 0; })); }, step);
}

TEST_P(GpuSweep, EveryCallOfAnImporterFailsOnce) {
  for (const std::uint64_t chunks : {1, 3}) {
    Actor producer = gpu_actor();
    Actor consumer = gpu_actor();
    export_kv(producer, chunks);
    sweep_import(producer, consumer, {{"name", "kv"}, {"peers", "1"}, {"host", HB_HOST_PREFER}}, chunks);
    producer.ok("gpu_check", {{"mem", "m"}, {"on", 2}, {"seed", 1}});
    consumer.leave();
    producer.leave();
  }
}

TEST_P(GpuSweep, EveryCallOfAnImportOfAPartFailsOnce) {
  Actor producer = gpu_actor();
  Actor consumer = gpu_actor();
  export_kv(producer, 3);
  const Message part{{"name", "kv"}, {"offset", kGpuChunk - 4096}, {"bytes", 8192}};
  Message everywhere = part;
  everywhere.insert({{"peers", "all"}});
  Message placed = part;
  placed.insert({{"address", 0x7e90'0000'0000 + kGpuChunk - 4096}});
  for (const Message& wanted : {everywhere, placed}) sweep_import(producer, consumer, wanted, 2);
  consumer.leave();
  producer.leave();
}

using GpuSweepHost = GpuSweep;
HB_GPU_VERSIONS(GpuSweepHost, "7.2", "7.14");

TEST_P(GpuSweepHost, EveryCallOfAnImportThatRequiresTheCpuFailsOnce) {
  Actor producer = gpu_actor();
  Actor consumer = gpu_actor();
  export_kv(producer, 3, 2, {{"host", HB_HOST_REQUIRE}});
  sweep_import(producer, consumer, {{"name", "kv"}, {"host", HB_HOST_REQUIRE}}, 3);
  consumer.leave();
  producer.leave();
}

// Across the border of a frame.
using GpuSweepMany = GpuSweep;
HB_GPU_VERSIONS(GpuSweepMany, "7.15");

TEST_P(GpuSweepMany, EveryCallForTwoHundredAndFiftyFourChunksFailsOnce) {
  constexpr std::uint64_t kMany = 254;
  Actor producer = gpu_actor();
  Actor consumer = gpu_actor();
  producer.ok("alloc", {{"provider", HB_PROVIDER_HIP}, {"bytes", kMany * kGpuChunk}, {"chunk", kGpuChunk}});
  sweep(
      producer,
      [&] {
        const Answer exported = producer.call("export", {{"mem", "m"}, {"name", "kv"}});
        if (exported.status != HB_OK) return exported;
        producer.ok("withdraw");
        return producer.ok("destroy");
      },
      [&] { EXPECT_EQ(producer.ok("list").text("names"), ""); }, kStepOfMany);
  producer.ok("export", {{"mem", "m"}, {"name", "kv"}});
  sweep_import(producer, consumer, {{"name", "kv"}}, kMany, kStepOfMany);
  consumer.leave();
  producer.leave();
}

// What the driver refuses to take back is lost, counted, and in nobody's way.
TEST_P(GpuSweep, GivingBackThatFailsIsCountedAndCrashesNothing) {
  for (const std::string call : {"hipMemUnmap", "hipMemAddressFree", "hipMemRelease"}) {
    SCOPED_TRACE(call);
    Actor actor = gpu_actor({{"FAKE_HIP_STRICT", "0"}});
    export_kv(actor, 3);
    std::uint64_t counted = 0;
    for (const char* k : {"1", "2", "3"}) {
      if (call == "hipMemAddressFree" && std::string(k) != "1") continue;  // one a range
      actor.ok("import", {{"name", "kv"}});
      actor.ok("arm", {{"control", "fail=" + call + ":" + k + "::skip"}});
      actor.ok("close_import");
      actor.ok("arm", {{"control", "fail="}});
      const std::uint64_t now = actor.ok("stats").number("failed_frees");
      EXPECT_GT(now, counted) << k;
      counted = now;
      EXPECT_EQ(actor.ok("stats").number("mapped_bytes"), 0u);
      EXPECT_TRUE(poll_until([&] { return actor.ok("who").number("count") == 0; }));
      // The same again, beside what was lost.
      actor.ok("import", {{"name", "kv"}});
      actor.ok("gpu_check", {{"import", "i"}, {"on", 2}, {"seed", 1}, {"stride", kGpuChunk}});
      actor.ok("close_import");
      EXPECT_EQ(actor.ok("stats").number("failed_frees"), counted);
    }
    EXPECT_TRUE(actor.call("exit").died);
    const auto status = actor.process().wait();
    EXPECT_TRUE(status && WIFEXITED(*status) && WEXITSTATUS(*status) == 0)
        << describe_exit(status.value_or(-1));
  }
}

}  // namespace
}  // namespace hb::test
