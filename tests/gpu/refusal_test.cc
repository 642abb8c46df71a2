// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// What does not work, told apart: no memory, no such GPU, a descriptor of another kind.
#include "gpu/gpu_fixture.h"

namespace hb::test {
namespace {

class GpuRefusal : public GpuTest {};
HB_GPU_CASES(GpuRefusal, gpu_cases);

TEST_P(GpuRefusal, MoreThanTheGpuHas) {
  Actor watcher = gpu_actor();
  Actor actor = gpu_actor();
  const std::string state = actor.ok("gpu_state").text("state");
  const std::uint64_t before = free_bytes(watcher);
  const std::uint64_t more = actor.ok("gpu_memory").number("total") / kGiB * kGiB + 16 * kGiB;
  const Answer none =
      actor.call("alloc", {{"provider", HB_PROVIDER_HIP}, {"bytes", more}, {"chunk", 16 * kGiB}});
  EXPECT_EQ(none.status, HB_NO_MEMORY) << none;
  EXPECT_EQ(none.text("operation"), "hipMemCreate");
  EXPECT_NE(none.text("chunk"), "-1") << none;
  EXPECT_NE(none.message().find("chunk " + none.text("chunk")), std::string::npos) << none;
  EXPECT_EQ(actor.ok("gpu_state").text("state"), state);
  expect_free_again(watcher, before, "after an allocation that failed");
  actor.leave();
  watcher.leave();
}

TEST_P(GpuRefusal, AGpuThatIsNotThere) {
  Actor actor = gpu_actor();
  const Answer far = actor.call("alloc", {{"provider", HB_PROVIDER_HIP}, {"bytes", 1}, {"device", 60}});
  EXPECT_EQ(far.status, HB_DEVICE) << far;
  EXPECT_EQ(far.number("used"), 60u);
  EXPECT_EQ(far.number("limit"), 1u);  // it sees one
  actor.leave();

  Actor blind = gpu_actor({{"CUDA_VISIBLE_DEVICES", "-1"}, {"HB_GPU_WARM", "0"}});
  const Answer none = blind.call("alloc", {{"provider", HB_PROVIDER_HIP}, {"bytes", 1}});
  EXPECT_EQ(none.status, HB_DEVICE) << none;
  EXPECT_NE(none.message().find("CUDA_VISIBLE_DEVICES=-1"), std::string::npos) << none;
  blind.leave();
}

// A memfd under the name of this GPU: the driver does not say what is wrong with it, so both causes are
// named.
TEST_P(GpuRefusal, ADescriptorOfAnotherKind) {
  Actor producer = gpu_actor();
  Actor consumer = gpu_actor();
  const Answer device = producer.ok("probe");
  producer.ok("memfds", {{"bytes", kGpuChunk}});
  producer.ok("export", {{"fds", "f"},
                         {"bytes", kGpuChunk},
                         {"name", "odd"},
                         {"uuid", device.text("uuid")},
                         {"pci", device.text("pci")}});
  const std::string state = consumer.ok("gpu_state").text("state");
  const Answer refused = consumer.call("import", {{"name", "odd"}});
  EXPECT_EQ(refused.status, HB_BAD_HANDLE) << refused;
  EXPECT_EQ(refused.text("operation"), "hipMemImportFromShareableHandle");
  EXPECT_EQ(refused.number("chunk"), 0u);
  for (const std::string& word : {std::string("either the descriptor"), device.text("uuid")})
    EXPECT_NE(refused.message().find(word), std::string::npos) << word << ": " << refused;
  EXPECT_EQ(consumer.ok("gpu_state").text("state"), state);
  consumer.leave();
  producer.leave();
}

}  // namespace
}  // namespace hb::test
