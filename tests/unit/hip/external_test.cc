// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Whose the descriptor of an external memory is, and its size, which no runtime looks at.
#include "providers/hip/external.h"

#include <fcntl.h>

#include "hipbroker/hipbroker.h"
#include "providers/hip/mapped_range.h"
#include "providers/hip/provider.h"
#include "unit/hip/fixture.h"

namespace hb::test {
namespace {

using EveryVersionExternal = EveryVersion;
HB_EVERY_VERSION(EveryVersionExternal);

const Env kAssume{{"HIPBROKER_PROBE", "assume"}, {"HIPBROKER_SYSFS_ROOT", "/nonexistent"}};

// Memory, a descriptor of it, and a range that is to map it.
struct Case {
  explicit Case(bool takes) {
    client::AllocateRequest request;
    request.bytes = kChunk;
    memory = std::move(*provider.allocate(request));
    descriptor = std::move(*memory->export_chunk(0));
    client::RangeRequest range;
    range.chunks = 1;
    range.handle_kind = HB_KIND_DMABUF;
    range.owner = memory->device();
    const auto context = context_of();
    hc::Quirks quirks = context->quirks;
    quirks.overrule(hc::Quirk::kExternalTakesDescriptor, takes);
    imported = std::move(*hc::begin_external(context->runtime, quirks, context->devices, range));
    part.object = {descriptor, 4096, 8192};
    part.object_bytes = part.whole_bytes = kChunk;
  }
  hc::HipProvider provider;
  std::unique_ptr<client::Allocation> memory;
  UniqueFd descriptor;
  std::unique_ptr<client::ImportedRange> imported;
  client::ImportedRange::Part part;
};

// On AMD it stays the library's to close; on CUDA it is the runtime's from then on. The caller's is untouched
// either way.
TEST_P(EveryVersionExternal, TheDescriptorIsClosedOnceByWhoeverOwnsIt) {
  for (const bool takes : {false, true}) {
    expect_clean(env(kAssume), [takes](const Hip& hip) {
      { Case first(takes); }  // what the fake keeps open from its first allocation on
      EXPECT_EQ(hip.fake_hip_control(takes ? "external_takes_fd=1" : "external_takes_fd=0"), 0);
      const Counts before = counts_of(hip);
      {
        Case it(takes);
        const std::size_t open = counts_of(hip).descriptors;
        const auto mapped = it.imported->map(it.part);
        EXPECT_TRUE(mapped) << text_of(mapped);
        EXPECT_EQ(hip.fake_hip_count("externals"), 1);
        EXPECT_GE(::fcntl(it.descriptor.get(), F_GETFD), 0);
        EXPECT_EQ(counts_of(hip).descriptors, open + (takes ? 1 : 0));
        EXPECT_FALSE(it.imported->host_granted());
        EXPECT_EQ(it.imported->ordinal(), 0);
      }
      EXPECT_EQ(hip.fake_hip_count("externals"), 0);
      EXPECT_EQ(counts_of(hip), before);
      EXPECT_EQ(hc::teardown_failures(), 0u);
    });
  }
}

TEST_P(EveryVersionExternal, ADescriptorOfAnotherSizeIsRefusedBeforeTheRuntimeSeesIt) {
  expect_clean(env(kAssume), [](const Hip& hip) {
    Case it(false);
    for (const std::uint64_t wrong : {kChunk / 2, 2 * kChunk}) {
      it.part.whole_bytes = wrong;
      const auto refused = it.imported->map(it.part);
      ASSERT_FALSE(refused);
      EXPECT_EQ(refused.error().status, HB_RANGE) << text_of(refused);
      EXPECT_EQ(refused.error().used, wrong);
      EXPECT_EQ(refused.error().limit, kChunk);
    }
    EXPECT_EQ(hip.fake_hip_count("calls:hipImportExternalMemory"), 0);
  });
}

TEST_P(EveryVersionExternal, ADriversOwnDescriptorIsNotForIt) {
  expect_clean(env(kAssume), [](const Hip&) {
    const auto context = context_of();
    client::RangeRequest range;
    range.chunks = 1;
    range.handle_kind = HB_KIND_DRIVER;
    EXPECT_FALSE(hc::external_is_possible(*context->runtime, range.handle_kind));
    const auto refused = hc::begin_external(context->runtime, context->quirks, context->devices, range);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().status, HB_UNSUPPORTED);
  });
}

}  // namespace
}  // namespace hb::test
