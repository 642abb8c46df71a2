// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Memory that is not of hipMemCreate, and what may be asked about a pointer.
#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <vector>

#include "hip_child.h"
#include "wire/unique_fd.h"

namespace hb::test {
namespace {

using RangeExport = HipError (*)(void*, void*, std::size_t, int, unsigned long long);
using HsaExport = int (*)(const void*, std::size_t, int*, std::uint64_t*);
using HsaInfo = int (*)(const void*, fh::HsaPointerInfo*, void* (*)(std::size_t), std::uint32_t*,
                        std::uint64_t**);

// The HSA half is in the process with the HIP half, under its soname.
void* hsa(const char* name) {
  void* half = ::dlopen("libhsa-runtime64.so.1", RTLD_NOW | RTLD_NOLOAD);
  return half == nullptr ? nullptr : ::dlsym(half, name);
}

off_t size_of(int fd) { return ::lseek(fd, 0, SEEK_END); }

TEST(FakeHipMemory, SmallAllocationsShareABufferObject) {
  expect_clean({{"FAKE_HIP_VERSION", "7.2"}}, [](const Hip& hip) {
    void* a = nullptr;
    void* b = nullptr;
    void* large = nullptr;
    EXPECT_EQ(hip.hipMalloc(&a, 1000), fh::kSuccess);
    EXPECT_EQ(hip.hipMalloc(&b, 1000), fh::kSuccess);
    EXPECT_EQ(hip.hipMalloc(&large, 3 * kMiB), fh::kSuccess);
    EXPECT_EQ(static_cast<char*>(b) - static_cast<char*>(a), 1024);
    EXPECT_EQ(hip.fake_hip_device_bytes(0), 5 * kMiB);
    const auto range = reinterpret_cast<RangeExport>(hip.symbol("hipMemGetHandleForAddressRange"));
    int fd = -1;
    EXPECT_EQ(range(&fd, b, 1000, 1, 0), fh::kSuccess);
    EXPECT_EQ(size_of(fd), 2 * static_cast<off_t>(kMiB));  // the whole object, and no word of where b lies
    ::close(fd);
    EXPECT_EQ(range(&fd, b, 1000, 1, 1), fh::kInvalidValue);
    EXPECT_EQ(range(&fd, b, 4000, 1, 0), fh::kInvalidValue);
    const auto portable = reinterpret_cast<HsaExport>(hsa("hsa_amd_portable_export_dmabuf"));
    ASSERT_NE(portable, nullptr);
    std::uint64_t offset = 0;
    EXPECT_EQ(portable(static_cast<char*>(b) + 8, 100, &fd, &offset), fh::kHsaSuccess);
    EXPECT_EQ(offset, 1032u);
    const auto close_dmabuf = reinterpret_cast<int (*)(int)>(hsa("hsa_amd_portable_close_dmabuf"));
    EXPECT_EQ(close_dmabuf(fd), fh::kHsaSuccess);
    EXPECT_EQ(portable(large, 3 * kMiB, &fd, &offset), fh::kHsaSuccess);
    EXPECT_EQ(offset, 0u);
    EXPECT_EQ(size_of(fd), 3 * static_cast<off_t>(kMiB));
    ::close(fd);
    EXPECT_EQ(hip.hipFree(a), fh::kSuccess);
    EXPECT_EQ(hip.hipMalloc(&a, 500), fh::kSuccess);  // the gap is used again
    EXPECT_LT(a, b);
    for (void* p : {a, b, large}) EXPECT_EQ(hip.hipFree(p), fh::kSuccess);
    EXPECT_EQ(hip.hipFree(a), fh::kInvalidValue);
    EXPECT_EQ(hip.fake_hip_device_bytes(0), 0u);
  });
}

TEST(FakeHipMemory, TheFragmentAllocatorCanBeOff) {
  expect_clean({{"HSA_DISABLE_FRAGMENT_ALLOCATOR", "1"}}, [](const Hip& hip) {
    void* a = nullptr;
    EXPECT_EQ(hip.hipMalloc(&a, 1000), fh::kSuccess);
    EXPECT_EQ(hip.fake_hip_device_bytes(0), 4096u);
    EXPECT_EQ(hip.hipFree(a), fh::kSuccess);
  });
}

TEST(FakeHipMemory, TheCpuReachesPlainMemoryOverALargeBar) {
  expect_clean({}, [](const Hip& hip) {
    char* at = nullptr;
    EXPECT_EQ(hip.hipMalloc(reinterpret_cast<void**>(&at), kChunk), fh::kSuccess);
    EXPECT_EQ(hip.hipMemset(at, 7, kChunk), fh::kSuccess);
    EXPECT_EQ(at[100], 7);
    EXPECT_EQ(hip.hipFree(at), fh::kSuccess);
  });
  expect_clean({{"FAKE_HIP_SWITCHES", "no_large_bar=1"}}, [](const Hip& hip) {
    void* at = nullptr;
    EXPECT_EQ(hip.hipMalloc(&at, kChunk), fh::kSuccess);
    EXPECT_FALSE(cpu_reads(at));
    EXPECT_EQ(hip.hipFree(at), fh::kSuccess);
  });
}

TEST(FakeHipMemory, WithoutTheHsaHalf) {
  expect_clean({{"FAKE_HIP_NO_HSA", "1"}},
               [](const Hip&) { EXPECT_EQ(hsa("hsa_amd_portable_export_dmabuf"), nullptr); });
}

TEST(FakeHipMemory, RangesOfVirtualMemoryExportFrom70On) {
  const auto body = [](const Hip& hip) {
    void* handle = hip.create(kChunk, fh::kHandleNone);
    char* at = hip.reserve(kChunk);
    EXPECT_EQ(hip.hipMemMap(at, kChunk, 0, handle, 0), fh::kSuccess);
    int fd = -1;
    const auto range = reinterpret_cast<RangeExport>(hip.symbol("hipMemGetHandleForAddressRange"));
    EXPECT_EQ(range(&fd, at, kChunk, 1, 0), fh::kSuccess);
    EXPECT_EQ(size_of(fd), static_cast<off_t>(kChunk));
    ::close(fd);
    hip.tear_down(at, kChunk, handle);
  };
  for (const char* version : {"7.0", "7.14"}) expect_clean({{"FAKE_HIP_VERSION", version}}, body);
}

TEST(FakeHipMemory, WhatPointersAreSaidToBe) {
  const auto type_of = [](const Hip& hip, const void* p, HipError expected = fh::kSuccess) {
    fh::PointerAttributes attributes{};
    EXPECT_EQ(hip.hipPointerGetAttributes(&attributes, p), expected);
    return attributes.type;
  };
  const auto body = [&](const Hip& hip, HipError unknown) {
    void* plain = nullptr;
    void* host = nullptr;
    void* pool = nullptr;
    EXPECT_EQ(hip.hipSetDevice(1), fh::kSuccess);
    EXPECT_EQ(hip.hipMalloc(&plain, kChunk), fh::kSuccess);
    EXPECT_EQ(hip.hipHostMalloc(&host, 100, 0), fh::kSuccess);
    EXPECT_EQ(hip.hipMallocAsync(&pool, 100, nullptr), fh::kSuccess);
    EXPECT_EQ(type_of(hip, plain), fh::kMemoryDevice);
    EXPECT_EQ(type_of(hip, pool), fh::kMemoryDevice);
    EXPECT_EQ(type_of(hip, host), fh::kMemoryHost);
    int local = 0;
    EXPECT_EQ(type_of(hip, &local, unknown), fh::kMemoryUnregistered);
    int ordinal = -1;
    char* inside = static_cast<char*>(plain) + 100;
    EXPECT_EQ(hip.hipPointerGetAttribute(&ordinal, 9, inside), fh::kSuccess);
    EXPECT_EQ(ordinal, 1);
    void* start = nullptr;
    EXPECT_EQ(hip.hipPointerGetAttribute(&start, 11, inside), fh::kSuccess);
    EXPECT_EQ(start, plain);
    void* mempool = nullptr;
    EXPECT_EQ(hip.hipPointerGetAttribute(&mempool, 17, pool), fh::kSuccess);
    EXPECT_NE(mempool, nullptr);
    EXPECT_EQ(hip.hipPointerGetAttribute(&mempool, 17, plain), fh::kSuccess);
    EXPECT_EQ(mempool, nullptr);
    std::size_t size = 0;
    EXPECT_EQ(hip.hipMemGetAddressRange(&start, &size, inside), fh::kSuccess);
    EXPECT_EQ(start, plain);
    EXPECT_EQ(size, kChunk);
    EXPECT_FALSE(cpu_reads(pool));
    EXPECT_EQ(hip.hipFreeAsync(pool, nullptr), fh::kSuccess);
    EXPECT_EQ(hip.hipHostFree(host), fh::kSuccess);
    EXPECT_EQ(hip.hipFree(plain), fh::kSuccess);
  };
  expect_clean({{"FAKE_HIP_VERSION", "6.2"}}, [&](const Hip& hip) { body(hip, fh::kInvalidValue); });
  expect_clean({{"FAKE_HIP_VERSION", "7.2"}}, [&](const Hip& hip) { body(hip, fh::kSuccess); });
}

TEST(FakeHipMemory, TheLegacyCapableAttributeCameWith711) {
  for (const auto& [version, known] : std::map<std::string, bool>{{"7.2", false}, {"7.14", true}})
    expect_clean({{"FAKE_HIP_VERSION", version}}, [known = known](const Hip& hip) {
      void* at = nullptr;
      bool capable = false;
      EXPECT_EQ(hip.hipMalloc(&at, kChunk), fh::kSuccess);
      EXPECT_EQ(hip.hipPointerGetAttribute(&capable, 10, at), known ? fh::kSuccess : fh::kInvalidValue);
      EXPECT_EQ(capable, known);
      EXPECT_EQ(hip.hipFree(at), fh::kSuccess);
    });
}

TEST(FakeHipMemory, HsaAgentsAreThoseThatRocrLeaves) {
  expect_clean({{"ROCR_VISIBLE_DEVICES", "3,1"}, {"HIP_VISIBLE_DEVICES", "1"}}, [](const Hip& hip) {
    EXPECT_EQ(hip.hipInit(0), fh::kSuccess);
    EXPECT_EQ(reinterpret_cast<int (*)()>(hsa("hsa_init"))(), fh::kHsaSuccess);
    std::vector<std::uint64_t> agents;
    const auto iterate =
        reinterpret_cast<int (*)(int (*)(std::uint64_t, void*), void*)>(hsa("hsa_iterate_agents"));
    EXPECT_EQ(iterate(
                  [](std::uint64_t agent, void* out) {
                    static_cast<std::vector<std::uint64_t>*>(out)->push_back(agent);
                    return 0;
                  },
                  &agents),
              fh::kHsaSuccess);
    ASSERT_EQ(agents.size(), 3u);  // the CPU is one
    const auto get_info = reinterpret_cast<int (*)(std::uint64_t, int, void*)>(hsa("hsa_agent_get_info"));
    char uuid[32] = {};
    std::uint32_t type = 9;
    EXPECT_EQ(get_info(agents[0], 17, &type), fh::kHsaSuccess);
    EXPECT_EQ(type, 0u);
    EXPECT_EQ(get_info(agents[1], 17, &type), fh::kHsaSuccess);
    EXPECT_EQ(type, 1u);
    EXPECT_EQ(get_info(agents[1], 0xA011, uuid), fh::kHsaSuccess);
    EXPECT_STREQ(uuid, "GPU-f00d000000000003");
  });
}

TEST(FakeHipMemory, NullOutputsCrashBefore713) {
  const auto body = [](const Hip& hip) {
    void* at = nullptr;
    EXPECT_EQ(hip.hipMalloc(&at, kChunk), fh::kSuccess);
    EXPECT_EQ(hip.hipMemGetAddressRange(nullptr, nullptr, at), fh::kSuccess);
    EXPECT_EQ(hip.hipFree(at), fh::kSuccess);
  };
  expect_abort({{"FAKE_HIP_VERSION", "7.12"}}, body);
  expect_clean({{"FAKE_HIP_VERSION", "7.13"}}, body);
}

// Maps an import and asks about it in one of three ways.
void ask_about_import(const Hip& hip, int way) {
  void* handle = hip.create(kChunk);
  const int fd = hip.export_fd(handle);
  void* imported = nullptr;
  EXPECT_EQ(hip.import_fd(&imported, fd), fh::kSuccess);
  char* at = hip.reserve(kChunk);
  EXPECT_EQ(hip.hipMemMap(at, kChunk, 0, imported, 0), fh::kSuccess);
  EXPECT_EQ(hip.grant(at, kChunk, {device_access(0)}), fh::kSuccess);
  if (way == 0) {
    fh::PointerAttributes attributes{};
    EXPECT_EQ(hip.hipPointerGetAttributes(&attributes, at + 5), fh::kSuccess);
  } else if (way == 1) {
    int type = 0;
    EXPECT_EQ(hip.hipPointerGetAttribute(&type, 2, at + 5), fh::kSuccess);
  } else {
    fh::HsaPointerInfo info{};
    info.size = sizeof info;
    const auto pointer_info = reinterpret_cast<HsaInfo>(hsa("hsa_amd_pointer_info"));
    EXPECT_EQ(pointer_info(at + 5, &info, nullptr, nullptr, nullptr), fh::kHsaSuccess);
    EXPECT_EQ(info.type, fh::kHsaVmem);
    EXPECT_EQ(info.agent_base_address, at);
  }
  hip.tear_down(at, kChunk, imported);
  EXPECT_EQ(hip.hipMemRelease(handle), fh::kSuccess);
  ::close(fd);
}

TEST(FakeHipMemory, PointerQueriesOnImportsCrashFrom714) {
  for (int way = 0; way < 3; ++way) {
    for (const char* version : {"6.2", "7.2", "7.13"})
      expect_clean({{"FAKE_HIP_VERSION", version}}, [way](const Hip& hip) { ask_about_import(hip, way); });
    for (const char* version : {"7.14", "7.15"})
      expect_abort({{"FAKE_HIP_VERSION", version}}, [way](const Hip& hip) { ask_about_import(hip, way); });
  }
}

TEST(FakeHipMemory, HsaNamesOwnerAndAccess) {
  const auto body = [](const Hip& hip, bool queried_base) {
    void* handle = hip.create(kChunk);
    char* at = hip.reserve(2 * kChunk);
    EXPECT_EQ(hip.hipMemMap(at, kChunk, 0, handle, 0), fh::kSuccess);
    EXPECT_EQ(hip.grant(at, kChunk, {device_access(2), device_access(0)}), fh::kSuccess);
    fh::HsaPointerInfo info{};
    info.size = sizeof info;
    std::uint32_t count = 0;
    std::uint64_t* agents = nullptr;
    const auto pointer_info = reinterpret_cast<HsaInfo>(hsa("hsa_amd_pointer_info"));
    EXPECT_EQ(pointer_info(at + 64, &info, std::malloc, &count, &agents), fh::kHsaSuccess);
    EXPECT_EQ(count, 2u);
    EXPECT_EQ(info.agent_owner, agents[0]);
    EXPECT_EQ(info.agent_base_address, queried_base ? at + 64 : at);
    std::free(agents);
    info.size = sizeof info;
    EXPECT_EQ(pointer_info(at + kChunk, &info, nullptr, nullptr, nullptr), fh::kHsaSuccess);
    EXPECT_EQ(info.type, fh::kHsaReserved);
    EXPECT_EQ(hip.hipMemUnmap(at, kChunk), fh::kSuccess);
    EXPECT_EQ(hip.hipMemAddressFree(at, 2 * kChunk), fh::kSuccess);
    EXPECT_EQ(hip.hipMemRelease(handle), fh::kSuccess);
  };
  expect_clean({{"FAKE_HIP_VERSION", "7.2"}}, [&](const Hip& hip) { body(hip, false); });
  expect_clean({{"FAKE_HIP_VERSION", "7.15"}}, [&](const Hip& hip) { body(hip, true); });
}

TEST(FakeHipMemory, ExternalMemoryIsForOneDeviceAndLeavesTheDescriptor) {
  expect_clean({}, [](const Hip& hip) {
    void* handle = hip.create(kChunk);
    const UniqueFd fd(hip.export_fd(handle));
    fh::ExternalMemoryHandleDesc desc{};
    desc.type = 1;
    desc.handle.fd = fd.get();
    desc.size = kChunk;
    EXPECT_EQ(hip.hipSetDevice(1), fh::kSuccess);
    void* memory = nullptr;
    EXPECT_EQ(hip.hipImportExternalMemory(&memory, &desc), fh::kSuccess);
    EXPECT_GE(::fcntl(fd.get(), F_GETFD), 0);
    fh::ExternalMemoryBufferDesc buffer{};
    buffer.offset = kMiB;
    buffer.size = kChunk;
    void* at = nullptr;
    EXPECT_EQ(hip.hipExternalMemoryGetMappedBuffer(&at, memory, &buffer), fh::kInvalidValue);
    buffer.size = kMiB;
    EXPECT_EQ(hip.hipExternalMemoryGetMappedBuffer(&at, memory, &buffer), fh::kSuccess);
    EXPECT_EQ(hip.hipMemset(at, 5, kMiB), fh::kSuccess);
    EXPECT_EQ(hip.hipSetDevice(0), fh::kSuccess);
    EXPECT_EQ(hip.hipMemset(at, 5, 1), fh::kIllegalAddress);
    char byte = 0;
    EXPECT_EQ(::pread(fd.get(), &byte, 1, kMiB), 1);
    EXPECT_EQ(byte, 5);
    EXPECT_EQ(hip.hipDestroyExternalMemory(memory), fh::kSuccess);
    EXPECT_EQ(hip.hipMemRelease(handle), fh::kSuccess);
  });
}

TEST(FakeHipMemory, LegacyHandles) {
  expect_clean({}, [](const Hip& hip) {
    void* at = nullptr;
    void* out = nullptr;
    fh::IpcHandle handle{};
    EXPECT_EQ(hip.hipMalloc(&at, kChunk), fh::kSuccess);
    EXPECT_EQ(hip.hipIpcGetMemHandle(&handle, at), fh::kSuccess);
    EXPECT_EQ(hip.hipIpcOpenMemHandle(&out, handle, 0), fh::kInvalidValue);  // 0 was the flag before 6.0
    EXPECT_EQ(hip.hipIpcOpenMemHandle(&out, handle, 1), fh::kInvalidContext);
    EXPECT_EQ(hip.hipFree(at), fh::kSuccess);
  });
  expect_complaint({{"FAKE_HIP_VERSION", "7.2"}}, "pool memory", [](const Hip& hip) {
    void* at = nullptr;
    fh::IpcHandle handle{};
    EXPECT_EQ(hip.hipMallocAsync(&at, kChunk, nullptr), fh::kSuccess);
    EXPECT_EQ(hip.hipIpcGetMemHandle(&handle, at), fh::kSuccess);
    EXPECT_EQ(hip.hipFreeAsync(at, nullptr), fh::kSuccess);
  });
  expect_clean({{"FAKE_HIP_VERSION", "7.14"}}, [](const Hip& hip) {
    void* at = nullptr;
    fh::IpcHandle handle{};
    EXPECT_EQ(hip.hipMallocAsync(&at, kChunk, nullptr), fh::kSuccess);
    EXPECT_EQ(hip.hipIpcGetMemHandle(&handle, at), fh::kInvalidValue);
    EXPECT_EQ(hip.hipFreeAsync(at, nullptr), fh::kSuccess);
  });
}

}  // namespace
}  // namespace hb::test
