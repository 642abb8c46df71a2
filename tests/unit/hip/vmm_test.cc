// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Memory made, exported, imported over every version of the fake.
#include "providers/hip/vmm.h"

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <thread>

#include "hipbroker/hipbroker.h"
#include "unit/hip/fixture.h"
#include "wire/unique_fd.h"

namespace hb::test {
namespace {

using client::Result;
using EveryVersionVmm = EveryVersion;
HB_EVERY_VERSION(EveryVersionVmm);

std::unique_ptr<hc::MappedRange> make(const hc::ContextPtr& context, std::size_t chunks, int device = 0,
                                      hc::HostAccess host = hc::HostAccess::kNone) {
  auto access = hc::access_for(*context, device, {}, host);
  EXPECT_TRUE(access) << text_of(access);
  hc::AllocateSpec spec;
  spec.bytes = chunks * kChunk;
  spec.chunk_bytes = kChunk;
  spec.access = *access;
  auto range = hc::allocate(context, spec);
  EXPECT_TRUE(range) << text_of(range);
  return range ? std::move(*range) : nullptr;
}

// Addresses that nothing uses, at a chunk's boundary.
char* free_place(std::size_t bytes) {
  void* at = ::mmap(nullptr, bytes + kChunk, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  EXPECT_NE(at, MAP_FAILED);
  ::munmap(at, bytes + kChunk);
  return reinterpret_cast<char*>((reinterpret_cast<std::uintptr_t>(at) + kChunk - 1) & ~(kChunk - 1));
}

struct Imported {
  std::unique_ptr<hc::Import> import;
  std::string error;
};

Imported bring_in(const hc::ContextPtr& context, hc::MappedRange& from, hc::HostAccess host, int owner = 0,
                  std::uint64_t offset = 0, void* address = nullptr) {
  auto chunks = export_all(*context, from);
  EXPECT_TRUE(chunks) << text_of(chunks);
  const hc::DeviceId id = context->devices.at(owner)->id;
  auto access = hc::access_for_import(*context, id, {}, host);
  EXPECT_TRUE(access) << text_of(access);
  hc::ImportSpec spec = spec_for(*chunks, *access, id);
  spec.offset = offset;
  spec.address = address;
  auto begun = hc::Import::begin(context, spec);
  if (!begun) return {nullptr, text_of(begun)};
  auto import = std::make_unique<hc::Import>(std::move(*begun));
  const auto added = import->add(*chunks);
  for (const hc::ImportChunk& chunk : *chunks) EXPECT_FALSE(added && chunk.descriptor);
  if (!added) return {nullptr, text_of(added)};
  return {std::move(import), ""};
}

TEST_P(EveryVersionVmm, BytesOfOneMappingAreSeenThroughTheOther) {
  expect_clean(env(), [](const Hip& hip) {
    const auto context = context_of();
    make(context, 1);  // the fake's first allocation opens a descriptor of its own
    const Counts before = counts_of(hip);
    {
      auto own = make(context, 3);
      for (int chunk = 0; chunk < 3; ++chunk) {
        const char mark = static_cast<char>('a' + chunk);
        EXPECT_EQ(hip.hipMemcpy(own->base() + static_cast<std::size_t>(chunk) * kChunk, &mark, 1,
                                fh::kCopyHostToDevice),
                  fh::kSuccess);
      }
      const auto [import, error] = bring_in(context, *own, hc::HostAccess::kNone);
      ASSERT_NE(import, nullptr) << error;
      EXPECT_EQ(hip.fake_hip_count("mappings"), 6);
      // Every device reads the same bytes, the owner too (7.14: the order of grants decides).
      for (int device = 0; device < 4; ++device) {
        EXPECT_EQ(hip.hipSetDevice(device), fh::kSuccess);
        for (std::size_t chunk = 0; chunk < 3; ++chunk) {
          char back = 0;
          EXPECT_EQ(hip.hipMemcpy(&back, static_cast<char*>(import->ptr()) + chunk * kChunk, 1,
                                  fh::kCopyDeviceToHost),
                    fh::kSuccess);
          EXPECT_EQ(back, static_cast<char>('a' + chunk)) << "device " << device;
        }
      }
      EXPECT_EQ(hip.hipSetDevice(0), fh::kSuccess);
    }
    EXPECT_EQ(counts_of(hip), before);
    EXPECT_EQ(hip.fake_hip_device_bytes(0), 0u);
    EXPECT_EQ(hc::teardown_failures(), 0u);
  });
}

TEST_P(EveryVersionVmm, MemoryIsOnTheDeviceAskedForAndTheCurrentOneStays) {
  expect_clean(env(), [](const Hip& hip) {
    const auto context = context_of();
    EXPECT_EQ(hip.hipSetDevice(1), fh::kSuccess);
    auto own = make(context, 2, 2);
    int current = -1;
    EXPECT_EQ(hip.hipGetDevice(&current), fh::kSuccess);
    EXPECT_EQ(current, 1);
    EXPECT_EQ(hip.fake_hip_device_bytes(2), 2 * kChunk);
    EXPECT_EQ(hip.fake_hip_device_bytes(1), 0u);
    own.reset();
    EXPECT_EQ(hip.hipGetDevice(&current), fh::kSuccess);
    EXPECT_EQ(current, 1);
  });
}

TEST_P(EveryVersionVmm, TheCpuIsLetInWhereTheVersionCan) {
  const bool own_host = is({"7.2", "7.14", "7.15"});
  const bool import_host = is({"7.2", "7.14"});
  expect_clean(env(), [=](const Hip& hip) {
    const auto context = context_of();
    auto own = make(context, 2, 0, hc::HostAccess::kPrefer);
    ASSERT_NE(own, nullptr);
    EXPECT_EQ(own->host_granted(), own_host);
    EXPECT_EQ(cpu_reads(own->base()), own_host);
    EXPECT_EQ(cpu_reads(own->base() + kChunk), own_host);
    const auto preferred = bring_in(context, *own, hc::HostAccess::kPrefer);
    ASSERT_NE(preferred.import, nullptr) << preferred.error;
    EXPECT_EQ(preferred.import->range().host_granted(), import_host);
    EXPECT_EQ(cpu_reads(preferred.import->ptr()), import_host);
    char back = 1;
    EXPECT_EQ(hip.hipMemcpy(&back, preferred.import->ptr(), 1, fh::kCopyDeviceToHost), fh::kSuccess);
    const auto required = bring_in(context, *own, hc::HostAccess::kRequire);
    EXPECT_EQ(required.import != nullptr, import_host) << required.error;
    EXPECT_EQ(required.error.starts_with(std::to_string(HB_UNSUPPORTED)), !import_host) << required.error;
  });
}

TEST_P(EveryVersionVmm, AHostGrantThatFailsKeepsTheDevicesOrRollsBack) {
  expect_clean(env({{"FAKE_HIP_SWITCHES", "host_grant_fails=1"}}), [](const Hip& hip) {
    const auto context = context_of();
    make(context, 1);  // the fake's first allocation opens a descriptor of its own
    const Counts before = counts_of(hip);
    {
      auto own = make(context, 2, 0, hc::HostAccess::kPrefer);
      ASSERT_NE(own, nullptr);
      EXPECT_FALSE(own->host_granted());
      char back = 1;
      EXPECT_EQ(hip.hipMemcpy(&back, own->base() + kChunk, 1, fh::kCopyDeviceToHost), fh::kSuccess);
    }
    hc::AllocateSpec spec;
    spec.bytes = kChunk;
    spec.access = *hc::access_for(*context, 0, {}, hc::HostAccess::kRequire);
    const auto refused = hc::allocate(context, spec);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().status, HB_UNSUPPORTED) << refused.error().message;
    EXPECT_EQ(counts_of(hip), before);
    EXPECT_EQ(hip.hipPeekAtLastError(), fh::kSuccess);
  });
}

TEST_P(EveryVersionVmm, APartOfAnExportAtAWishedAddress) {
  expect_clean(env(), [](const Hip& hip) {
    const auto context = context_of();
    auto own = make(context, 2);
    char* const wish = free_place(4 * kChunk) + 4096;
    const auto [import, error] = bring_in(context, *own, hc::HostAccess::kNone, 0, 4096, wish);
    ASSERT_NE(import, nullptr) << error;
    EXPECT_EQ(import->ptr(), wish);
    // Taken now.
    const auto second = bring_in(context, *own, hc::HostAccess::kNone, 0, 4096, wish);
    EXPECT_EQ(second.error.find(std::to_string(HB_ADDRESS)), 0u) << second.error;
    const auto incongruent = bring_in(context, *own, hc::HostAccess::kNone, 0, 4096, wish + 4096);
    EXPECT_EQ(incongruent.error.find(std::to_string(HB_RANGE)), 0u) << incongruent.error;
    EXPECT_EQ(hip.fake_hip_count("reservations"), 2);
  });
}

TEST_P(EveryVersionVmm, AnAddressThatTheRuntimeAlignsBadlyIsNotUsed) {
  expect_clean(env({{"FAKE_HIP_SWITCHES", "reserve_small_align=1"}}), [](const Hip&) {
    const auto context = context_of();
    auto own = make(context, 1);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(own->base()) % kChunk, 0u);
  });
}

TEST_P(EveryVersionVmm, ABriefRefusalOfTheGrantIsOvercome) {
  expect_clean(env(), [](const Hip& hip) {
    const auto context = context_of();
    EXPECT_EQ(hip.fake_hip_control("grant_fails_once=2"), 0);
    EXPECT_NE(make(context, 1), nullptr);
  });
}

TEST_P(EveryVersionVmm, ADescriptorOfAnotherKindIsRefusedWithBothCauses) {
  expect_clean(env(), [](const Hip& hip) {
    const auto context = context_of();
    const hc::DeviceId id = context->devices.at(0)->id;
    const Counts before = counts_of(hip);
    for (const std::uint64_t size : {kChunk, 2 * kChunk}) {
      std::vector<hc::ImportChunk> chunks(1);
      chunks[0].descriptor = UniqueFd(::memfd_create("stranger", MFD_CLOEXEC));
      ASSERT_EQ(::ftruncate(chunks[0].descriptor.get(), static_cast<off_t>(size)), 0);
      chunks[0].bytes = kChunk;
      chunks[0].handle_kind = HB_KIND_DMABUF;
      chunks[0].number = 7;
      auto import = hc::Import::begin(
          context, spec_for(chunks, *hc::access_for_import(*context, id, {}, hc::HostAccess::kNone), id));
      ASSERT_TRUE(import) << text_of(import);
      const auto added = import->add(chunks);
      ASSERT_FALSE(added);
      EXPECT_EQ(added.error().chunk, 7);
      if (size == kChunk) {
        EXPECT_EQ(added.error().status, HB_BAD_HANDLE);
        for (const char* words : {"dma-buf", "not of the type", "GPU-f00d000000000000"})
          EXPECT_NE(added.error().message.find(words), std::string::npos) << added.error().message;
      } else {
        EXPECT_EQ(added.error().status, HB_RANGE);
        EXPECT_EQ(added.error().used, kChunk);
        EXPECT_EQ(added.error().limit, 2 * kChunk);
      }
    }
    EXPECT_EQ(counts_of(hip), before);
  });
}

TEST_P(EveryVersionVmm, AnImportIsNotExportedAgain) {
  expect_clean(env(), [](const Hip& hip) {
    const auto context = context_of();
    auto own = make(context, 1);
    const auto [import, error] = bring_in(context, *own, hc::HostAccess::kNone);
    ASSERT_NE(import, nullptr) << error;
    const long long calls = hip.fake_hip_count("calls");
    const auto refused = hc::export_chunk(*context, import->range(), 0);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().status, HB_NOT_SHAREABLE);
    EXPECT_EQ(hip.fake_hip_count("calls"), calls);
  });
}

TEST_P(EveryVersionVmm, TwoExportsOfOneHandleAreClosedApart) {
  for (const char* who : {"runtime_closes_export_fd=0", "runtime_closes_export_fd=1"})
    expect_clean(env({{"FAKE_HIP_SWITCHES", who}}), [&](const Hip& hip) {
      auto context = std::make_shared<hc::Context>(*context_of());
      context->quirks.overrule(hc::Quirk::kRuntimeClosesExportDescriptor, who[std::strlen(who) - 1] == '1');
      make(context, 1);  // the fake's first allocation opens a descriptor of its own
      const Counts before = counts_of(hip);
      auto own = make(context, 1);
      auto first = hc::export_chunk(*context, *own, 0);
      auto second = hc::export_chunk(*context, *own, 0);
      ASSERT_TRUE(first && second);
      EXPECT_NE(first->get(), second->get());
      first->reset();
      EXPECT_EQ(::lseek(second->get(), 0, SEEK_END), static_cast<off_t>(kChunk));
      own.reset();
      EXPECT_EQ(::lseek(second->get(), 0, SEEK_END), static_cast<off_t>(kChunk));
      second->reset();
      EXPECT_EQ(counts_of(hip), before);
    });
}

TEST_P(EveryVersionVmm, DescriptorsThatRunOutAreNamedAsSuch) {
  const bool costs = is({"7.14", "7.15"});
  expect_clean(env(), [=](const Hip& hip) {
    const auto context = context_of();
    auto own = make(context, 2);
    const Counts before = counts_of(hip);
    rlimit limit{};
    ::getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = 64;
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &limit), 0);
    hc::ImportSpec spec;
    spec.owner = context->devices.at(0)->id;
    spec.access = *hc::access_for_import(*context, spec.owner, {}, hc::HostAccess::kNone);
    spec.bytes = 1000 * kChunk;
    spec.chunks = 1000;
    const auto begun = hc::Import::begin(context, spec);
    EXPECT_EQ(begun.has_value(), !costs) << text_of(begun);
    if (!begun) {
      EXPECT_EQ(begun.error().status, HB_NO_FDS);
      for (const char* words : {"RLIMIT_NOFILE", "64", "one descriptor for each chunk"})
        EXPECT_NE(begun.error().message.find(words), std::string::npos) << begun.error().message;
      EXPECT_EQ(begun.error().limit, 64u);
      EXPECT_GT(begun.error().used, 1000u);
      EXPECT_EQ(counts_of(hip), before);
    }
  });
}

TEST_P(EveryVersionVmm, InAForkedChildNothingIsTouched) {
  expect_clean(env(), [](const Hip& hip) {
    const auto context = context_of();
    auto own = make(context, 2);
    auto descriptor = hc::export_chunk(*context, *own, 0);
    const pid_t child = ::fork();
    if (child == 0) {
      const long long calls = hip.fake_hip_count("calls");
      own.reset();
      ::_exit(hip.fake_hip_count("calls") == calls ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    EXPECT_EQ(hip.fake_hip_count("mappings"), 2);
  });
}

TEST(HipVmm, AnOwnerHiddenFromRocrIsADeviceErrorUpTo713AndTriedFrom714) {
  for (const auto& version : all_versions())
    expect_clean({{"FAKE_HIP_VERSION", version}, {"ROCR_VISIBLE_DEVICES", "0,1"}}, [&](const Hip&) {
      const auto context = context_of();
      const hc::DeviceId hidden{"GPU-f00d000000000002", "0000:83:00.0", 0};
      const auto access = hc::access_for_import(*context, hidden, {}, hc::HostAccess::kNone);
      if (version == "7.14" || version == "7.15") {
        ASSERT_TRUE(access) << text_of(access);
        EXPECT_EQ(access->peers, (std::vector<int>{0, 1}));
      } else {
        ASSERT_FALSE(access);
        EXPECT_EQ(access.error().status, HB_DEVICE);
        for (const char* words : {"GPU-f00d000000000002", "GPU-f00d000000000000", "ROCR_VISIBLE_DEVICES=0,1"})
          EXPECT_NE(access.error().message.find(words), std::string::npos) << access.error().message;
      }
    });
}

TEST(HipVmm, TheDescriptorIsKeptUntilAccessIsGranted) {
  // Builds of 7.14 that read the caller's number again when access is granted.
  expect_clean({{"FAKE_HIP_VERSION", "7.14"}, {"FAKE_HIP_SWITCHES", "import_by_number=1"}}, [](const Hip&) {
    const auto context = context_of();
    auto own = make(context, 3);
    const auto [import, error] = bring_in(context, *own, hc::HostAccess::kNone);
    EXPECT_NE(import, nullptr) << error;
  });
}

TEST(HipVmm, UnmapHoldsNoLockWhereItWaitsForStreams) {
  expect_clean({{"FAKE_HIP_VERSION", "7.14"}}, [](const Hip& hip) {
    const auto context = context_of();
    auto own = make(context, 1);
    auto other = make(context, 1, 3);
    void* stream = nullptr;
    EXPECT_EQ(hip.hipStreamCreateWithFlags(&stream, 1), fh::kSuccess);
    char text[64];
    std::snprintf(text, sizeof text, "busy=%p", stream);
    EXPECT_EQ(hip.fake_hip_control(text), 0);
    std::thread unmapping([&] { own.reset(); });
    // Export of other memory goes on meanwhile; with the lock held it would never return.
    while (hip.fake_hip_count("calls:hipMemUnmap") == 0) std::this_thread::yield();
    EXPECT_TRUE(hc::export_chunk(*context, *other, 0));
    EXPECT_EQ(hip.fake_hip_count("mappings"), 2);
    std::snprintf(text, sizeof text, "idle=%p", stream);
    EXPECT_EQ(hip.fake_hip_control(text), 0);
    unmapping.join();
    EXPECT_EQ(hip.fake_hip_count("mappings"), 1);
    EXPECT_EQ(hip.hipStreamDestroy(stream), fh::kSuccess);
  });
}

}  // namespace
}  // namespace hb::test
