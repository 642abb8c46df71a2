// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// The provider as the rest of the client sees it: parts of chunks, whole objects, sizes that nobody can ask
// for.
#include "providers/hip/provider.h"

#include "hipbroker/hipbroker.h"
#include "unit/hip/fixture.h"

namespace hb::test {
namespace {

using client::Result;
using EveryVersionProvider = EveryVersion;
HB_EVERY_VERSION(EveryVersionProvider);

std::unique_ptr<client::Allocation> allocate(client::Provider& provider, std::uint64_t bytes) {
  client::AllocateRequest request;
  request.bytes = bytes;
  auto made = provider.allocate(request);
  EXPECT_TRUE(made) << text_of(made);
  return made ? std::move(*made) : nullptr;
}

// Imports the one chunk as a descriptor of `kind`, told to be of `whole` bytes.
std::string import_as(client::Provider& provider, const client::Allocation& memory, std::uint32_t kind,
                      std::uint64_t whole) {
  client::RangeRequest range;
  range.bytes = memory.bytes();
  range.handle_kind = kind;
  range.owner = memory.device();
  range.chunks = 1;
  range.object_bytes = memory.bytes();
  auto begun = provider.begin_import(range);
  if (!begun) return text_of(begun);
  auto descriptor = memory.export_chunk(0);
  if (!descriptor) return text_of(descriptor);
  client::ImportedRange::Part part;
  part.object = {*descriptor, 0, memory.bytes()};
  part.chunk = 7;
  part.object_bytes = memory.bytes();
  part.whole_bytes = whole;
  return text_of((*begun)->map(part));
}

const Env kAssume{{"HIPBROKER_PROBE", "assume"}, {"HIPBROKER_SYSFS_ROOT", "/nonexistent"}};

// Of a driver's own descriptors nobody but the exporter knows the size: lseek is not asked, and without the
// daemon's word there is no import.
TEST_P(EveryVersionProvider, ADriversDescriptorHasTheSizeThatWasDeclared) {
  expect_clean(env(kAssume), [](const Hip&) {
    hc::HipProvider provider;
    const auto memory = allocate(provider, kChunk);
    EXPECT_EQ(import_as(provider, *memory, HB_KIND_DRIVER, kChunk), "ok");
    const std::string silent = import_as(provider, *memory, HB_KIND_DRIVER, 0);
    EXPECT_NE(silent.find("chunk 7"), std::string::npos) << silent;
    EXPECT_NE(silent.find("update hipbrokerd"), std::string::npos) << silent;
    // Twice the size does not fit into the addresses that were reserved for what was announced.
    const std::string more = import_as(provider, *memory, HB_KIND_DRIVER, 2 * kChunk);
    EXPECT_NE(more.find("does not fit"), std::string::npos) << more;
  });
}

TEST_P(EveryVersionProvider, TheKernelsSizeMustBeTheOneAnnounced) {
  expect_clean(env(kAssume), [](const Hip&) {
    hc::HipProvider provider;
    const auto memory = allocate(provider, kChunk);
    EXPECT_EQ(import_as(provider, *memory, HB_KIND_DMABUF, kChunk), "ok");
    EXPECT_EQ(import_as(provider, *memory, HB_KIND_DMABUF, 0), "ok");  // an older daemon
    for (const std::uint64_t wrong : {kChunk / 2, 2 * kChunk}) {
      const std::string refused = import_as(provider, *memory, HB_KIND_DMABUF, wrong);
      EXPECT_NE(refused.find("chunk 7 needs an object of " + std::to_string(wrong) +
                             " bytes and got one of " + std::to_string(kChunk)),
                std::string::npos)
          << refused;
    }
  });
}

TEST_P(EveryVersionProvider, PeersAreTheOnesThatWereLetIn) {
  expect_clean(env(kAssume), [](const Hip&) {
    hc::HipProvider provider;
    client::AllocateRequest request;
    request.bytes = kChunk;
    request.device = 2;
    request.peers.ordinals = {1, 2, 0, 1};
    const auto made = provider.allocate(request);
    ASSERT_TRUE(made) << text_of(made);
    const auto peers = (*made)->peers();
    ASSERT_EQ(peers.size(), 2u);
    EXPECT_EQ(peers[0].device.uuid, "GPU-f00d000000000001");
    EXPECT_EQ(peers[1].device.uuid, "GPU-f00d000000000000");
    EXPECT_TRUE(allocate(provider, 1)->peers().empty());
  });
}

}  // namespace
}  // namespace hb::test
