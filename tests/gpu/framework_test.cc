// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// What PyTorch and vLLM do: memory of their own handles, of unequal sizes, shared as one range.
#include "gpu/gpu_fixture.h"

namespace hb::test {
namespace {

class GpuFramework : public GpuTest {};
HB_GPU_CASES(GpuFramework, gpu_cases);

TEST_P(GpuFramework, HandlesOfUnequalSizesAreOneRange) {
  Actor watcher = gpu_actor();
  Actor producer = gpu_actor();
  Actor consumer = gpu_actor();
  const std::string idle = producer.ok("gpu_state").text("state");
  const std::string before = consumer.ok("gpu_state").text("state");
  const std::uint64_t free = free_bytes(watcher);
  constexpr std::uint64_t kUnits = 1 + 2 + 3;

  const Answer shared = producer.ok("framework_share", {{"name", "kv"}, {"chunks", 3}, {"seed", 5}});
  EXPECT_EQ(shared.number("bytes"), kUnits * kGpuChunk);
  const Answer imported = consumer.ok("import", {{"name", "kv"}});
  EXPECT_EQ(imported.number("chunks"), 3u);
  EXPECT_EQ(imported.number("bytes"), kUnits * kGpuChunk);
  check(consumer, {{"import", "i"}}, 5);

  // From the end of the first chunk into the third: whole chunks are mapped, the bytes asked for are told.
  constexpr std::uint64_t kFrom = kGpuChunk - 4096;
  constexpr std::uint64_t kBytes = 2 * kGpuChunk + 8192;
  const Answer part =
      consumer.ok("import", {{"import", "p"}, {"name", "kv"}, {"offset", kFrom}, {"bytes", kBytes}});
  EXPECT_EQ(part.number("chunks"), 3u);
  consumer.ok("gpu_check", {{"import", "p"}, {"seed", 5}, {"at", kFrom}});

  const Answer gone = producer.ok("framework_free");
  EXPECT_EQ(gone.number("exports"), 1u);
  EXPECT_EQ(gone.number("holders"), 2u);
  EXPECT_EQ(consumer.call("import", {{"import", "late"}, {"name", "kv"}}).status, HB_NOT_FOUND);
  check(consumer, {{"import", "i"}}, 5);
  consumer.ok("close_import");
  consumer.ok("close_import", {{"import", "p"}});
  EXPECT_EQ(consumer.ok("gpu_state").text("state"), before);
  EXPECT_EQ(producer.ok("gpu_state").text("state"), idle);
  expect_free_again(watcher, free, "after the framework freed what it had shared");
  consumer.leave();
  producer.leave();
  watcher.leave();
}

}  // namespace
}  // namespace hb::test
