// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// What an importer is told of the objects behind an export, and of the GPUs that were let in.
#include "integration/hip/gpu_fixture.h"
#include "wire/limits.h"

namespace hb::test {
namespace {

using GpuObjects = Gpu;
HB_EVERY_GPU_VERSION(GpuObjects);

// Where the runtime aligns badly, one more to align in.
void expect_reserved(Actor& actor, std::uint64_t chunks) {
  const std::uint64_t reserved = actor.ok("fake").number("reserved");
  EXPECT_TRUE(reserved == chunks * kGpuChunk || reserved == (chunks + 1) * kGpuChunk)
      << reserved << " bytes reserved for " << chunks << " chunks";
}

// Small chunks on the first pages, a large one on the last: what is reserved before the second page comes is
// exactly what all of them need.
TEST_P(GpuObjects, SeveralPagesOfUnequalObjects) {
  constexpr std::uint64_t kSmall = limits::kFrameFds + 7;  // two pages
  Actor producer = gpu_actor();
  Actor middle = gpu_actor();
  const Message gpu{{"provider", HB_PROVIDER_HIP}, {"device", 2}};
  Message small = gpu;
  small.insert({{"bytes", kSmall * kGpuChunk}, {"chunk", kGpuChunk}});
  producer.ok("alloc", small);
  producer.ok("gpu_fill", {{"mem", "m"}, {"on", 2}, {"seed", 1}, {"stride", kGpuChunk}});
  producer.ok("export", {{"mem", "m"}, {"name", "kv"}});
  Message large = gpu;
  large.insert({{"mem", "l"}, {"bytes", 4 * kGpuChunk}, {"chunk", 4 * kGpuChunk}});
  producer.ok("alloc", large);
  producer.ok("gpu_fill", {{"mem", "l"}, {"on", 2}, {"seed", 2}});
  producer.ok("export", {{"mem", "l"}, {"export", "l"}, {"name", "large"}});
  middle.ok("acquire", {{"name", "kv"}, {"access", HB_ACCESS_READ_WRITE}});
  middle.ok("acquire", {{"handles", "l"}, {"name", "large"}, {"access", HB_ACCESS_READ_WRITE}});
  middle.ok("export", {{"handles", "h l"}, {"bytes", 0}, {"name", "both"}, {"uuid", kU2}, {"pci", kPci2}});

  Actor consumer = gpu_actor();
  const Answer imported = consumer.ok("import", {{"name", "both"}});
  EXPECT_EQ(imported.number("chunks"), kSmall + 1);
  EXPECT_EQ(imported.number("bytes"), (kSmall + 4) * kGpuChunk);
  expect_reserved(consumer, kSmall + 4);
  consumer.ok("gpu_check",
              {{"import", "i"}, {"on", 2}, {"seed", 1}, {"size", kSmall * kGpuChunk}, {"stride", kGpuChunk}});
  consumer.ok("gpu_check", {{"import", "i"}, {"on", 2}, {"offset", kSmall * kGpuChunk}, {"seed", 2}});
  consumer.ok("close_import");
  // A part that begins and ends inside of chunks still reserves them whole.
  consumer.ok("import",
              {{"name", "both"}, {"offset", (kSmall - 1) * kGpuChunk + 4096}, {"bytes", kGpuChunk}});
  expect_reserved(consumer, 5);
  consumer.leave();
  middle.leave();
  producer.leave();
}

TEST_P(GpuObjects, PeersAreListedByIdentity) {
  Actor producer = gpu_actor({{"HIP_VISIBLE_DEVICES", "2,3"}});
  export_kv(producer, 1, 0, {{"peers", "1"}});
  const Answer listed = producer.ok("list");
  EXPECT_EQ(listed.text("0.uuid"), kU2);
  EXPECT_EQ(listed.text("0.peers"), kU3 + std::string("@0001:03:00.0"));
  producer.leave();
}

}  // namespace
}  // namespace hb::test
