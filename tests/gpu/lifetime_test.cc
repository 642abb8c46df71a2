// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Whose memory it is when: measured by a process that has no part in it.
#include "gpu/gpu_fixture.h"

namespace hb::test {
namespace {

class GpuLife : public GpuTest {
 protected:
  // Much more than what a driver keeps for a process (0.5 GiB on an H200), so that it cannot be mistaken.
  static constexpr std::uint64_t kBytes = 4 * kGiB;
  static constexpr std::uint64_t kStride = 64u << 20;

  static void expect_held(Actor& watcher, std::uint64_t before, const std::string& when) {
    EXPECT_LT(free_bytes(watcher), before - kBytes / 2) << when;
  }
};
HB_GPU_CASES(GpuLife, few_gpu_cases);

TEST_P(GpuLife, TheExporterDiesAndItsImporterReadsOn) {
  Actor watcher = gpu_actor();
  Actor consumer = gpu_actor();
  Actor producer = gpu_actor();
  const std::uint64_t before = free_bytes(watcher);
  export_kv(producer, kBytes, kGiB, kStride);
  consumer.ok("import", {{"name", "kv"}, {"access", HB_ACCESS_READ_WRITE}});
  producer.kill9();
  expect_baseline("after the exporter's death", 2);  // the daemon has let go of it
  check(consumer, {{"import", "i"}}, 1, kStride);
  expect_held(watcher, before, "held by its importer");
  fill(consumer, {{"import", "i"}}, 2, kStride);
  check(consumer, {{"import", "i"}}, 2, kStride);
  const Answer late = watcher.call("import", {{"name", "kv"}});
  EXPECT_EQ(late.status, HB_NOT_FOUND) << late;
  consumer.ok("close_import");
  expect_free_again(watcher, before, "after the import was closed");
  consumer.leave();
  watcher.leave();
}

TEST_P(GpuLife, TheImporterDies) {
  Actor watcher = gpu_actor();
  Actor producer = gpu_actor();
  Actor consumer = gpu_actor();
  const std::uint64_t before = free_bytes(watcher);
  export_kv(producer, kBytes, kGiB, kStride);
  consumer.ok("import", {{"name", "kv"}, {"access", HB_ACCESS_READ_WRITE}});
  EXPECT_EQ(producer.ok("who").number("count"), 1u);
  consumer.kill9();
  EXPECT_TRUE(poll_until([&] { return producer.ok("who").number("count") == 0; }));
  check(producer, {{"mem", "m"}}, 1, kStride);
  expect_held(watcher, before, "held by its owner");
  producer.ok("withdraw");
  producer.ok("destroy");
  producer.ok("free");
  expect_free_again(watcher, before, "after the owner freed it");
  producer.leave();
  watcher.leave();
}

TEST_P(GpuLife, WithdrawnMemoryIsFreeWhenTheLastHasClosedIt) {
  Actor watcher = gpu_actor();
  Actor producer = gpu_actor();
  Actor consumer = gpu_actor();
  const std::uint64_t before = free_bytes(watcher);
  export_kv(producer, kBytes, kGiB, kStride);
  consumer.ok("import", {{"name", "kv"}});
  EXPECT_EQ(producer.ok("withdraw").number("holders"), 1u);
  expect_baseline("after withdraw has answered", 3);
  producer.ok("destroy");
  producer.ok("free");
  check(consumer, {{"import", "i"}}, 1, kStride);
  expect_held(watcher, before, "held by the one left");
  consumer.ok("close_import");
  expect_free_again(watcher, before, "after the last import was closed");
  consumer.leave();
  producer.leave();
  watcher.leave();
}

// What is left behind each time, however little, shows after many times.
TEST_P(GpuLife, TwoHundredRounds) {
  constexpr std::uint64_t kRound = 64u << 20;
  Actor watcher = gpu_actor();
  Actor producer = gpu_actor();
  Actor consumer = gpu_actor();
  std::uint64_t before = 0;
  std::string state;
  for (int round = 0; round < 200; ++round) {
    if (round == 1) {  // the first one may set things up for good
      before = free_bytes(watcher);
      state = producer.ok("gpu_state").text("state") + consumer.ok("gpu_state").text("state");
    }
    export_kv(producer, kRound, kRound / 2, kRound / 2);
    if (round % 4 == 0) {
      consumer.ok("import", {{"name", "kv"}});
      check(consumer, {{"import", "i"}}, 1, kRound / 2);
      consumer.ok("close_import");
    }
    producer.ok("withdraw");
    producer.ok("destroy");
    producer.ok("free");
    if (testing::Test::HasFailure()) break;
  }
  expect_free_again(watcher, before, "after 200 rounds");
  EXPECT_EQ(producer.ok("gpu_state").text("state") + consumer.ok("gpu_state").text("state"), state);
  expect_baseline("after 200 rounds", 3);
  consumer.leave();
  producer.leave();
  watcher.leave();
}

}  // namespace
}  // namespace hb::test
