// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Every driver call of a whole export and a whole import fails once, in turn: whatever it was, nothing is
// left over in the process or in the daemon, and the error says where.
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

void sweep(Actor& actor, const Operation& operation, const std::function<void()>& after) {
  ASSERT_EQ(operation().status, HB_OK);  // what is made once for all is made
  const std::string before = actor.ok("fake").text("state");
  int refusals = 0;
  for (long long k = 1; k < 1000; ++k) {
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
  FAIL() << "a thousand calls were not enough";
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

TEST_P(GpuSweep, EveryCallOfAnImporterFailsOnce) {
  for (const std::uint64_t chunks : {1, 3}) {
    Actor producer = gpu_actor();
    Actor consumer = gpu_actor();
    export_kv(producer, chunks);
    sweep(
        consumer,
        [&] {
          Answer imported =
              consumer.call("import", {{"name", "kv"}, {"peers", "1"}, {"host", HB_HOST_PREFER}});
          if (imported.status == HB_OK) {
            EXPECT_EQ(consumer.ok("arm").number("mappings"), chunks);  // whole
            consumer.ok("close_import");
          }
          return imported;
        },
        [&] { EXPECT_TRUE(poll_until([&] { return producer.ok("who").number("count") == 0; })); });
    producer.ok("gpu_check", {{"mem", "m"}, {"on", 2}, {"seed", 1}});
    consumer.leave();
    producer.leave();
  }
}

}  // namespace
}  // namespace hb::test
