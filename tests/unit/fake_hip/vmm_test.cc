// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include <cstring>
#include <vector>

#include "hip_child.h"
#include "support/fd_census.h"
#include "wire/unique_fd.h"

namespace hb::test {
namespace {

class EveryVersion : public VersionTest {};
IN_EVERY_VERSION(EveryVersion);

HipError read_back(const Hip& hip, const void* from, std::string& out, std::size_t size = 5) {
  out.assign(size, '\0');
  return hip.hipMemcpy(out.data(), from, size, fh::kCopyDeviceToHost);
}

TEST_P(EveryVersion, AWholeCycleLeavesNothing) {
  expect_clean(env(), [](const Hip& hip) {
    void* handle = hip.create(kChunk);
    char* at = hip.reserve(kChunk);
    EXPECT_EQ(hip.hipMemMap(at, kChunk, 0, handle, 0), fh::kSuccess);
    EXPECT_EQ(hip.grant(at, kChunk, {device_access(0)}), fh::kSuccess);
    EXPECT_EQ(hip.hipMemcpy(at, "hello", 5, fh::kCopyHostToDevice), fh::kSuccess);
    std::string back;
    EXPECT_EQ(read_back(hip, at, back), fh::kSuccess);
    EXPECT_EQ(back, "hello");
    EXPECT_EQ(hip.fake_hip_count("mappings"), 1);
    EXPECT_EQ(hip.fake_hip_device_bytes(0), kChunk);
    hip.tear_down(at, kChunk, handle);
    EXPECT_EQ(hip.fake_hip_count("mappings"), 0);
    EXPECT_EQ(hip.fake_hip_device_bytes(0), 0u);
  });
}

TEST_P(EveryVersion, NoGrantNoBytes) {
  expect_clean(env(), [](const Hip& hip) {
    void* handle = hip.create(kChunk);
    char* at = hip.reserve(kChunk);
    EXPECT_EQ(hip.hipMemMap(at, kChunk, 0, handle, 0), fh::kSuccess);
    std::string back;
    EXPECT_EQ(read_back(hip, at, back), fh::kIllegalAddress);
    EXPECT_EQ(hip.grant(at, kChunk, {device_access(1), device_access(0, fh::kProtRead)}), fh::kSuccess);
    EXPECT_EQ(read_back(hip, at, back), fh::kSuccess);
    EXPECT_EQ(hip.hipMemcpy(at, "x", 1, fh::kCopyHostToDevice), fh::kIllegalAddress);  // read-only for it
    EXPECT_EQ(hip.hipSetDevice(1), fh::kSuccess);
    EXPECT_EQ(hip.hipMemcpy(at, "x", 1, fh::kCopyHostToDevice), fh::kSuccess);
    EXPECT_EQ(hip.hipSetDevice(2), fh::kSuccess);
    EXPECT_EQ(read_back(hip, at, back), fh::kIllegalAddress);
    EXPECT_EQ(hip.fake_hip_count("faults"), 3);
    unsigned long long flags = 9;
    const fh::Location two{fh::kLocationDevice, 2};
    const fh::Location one{fh::kLocationDevice, 1};
    const fh::Location host{fh::kLocationHost, 0};
    EXPECT_EQ(hip.hipMemGetAccess(&flags, &two, at), fh::kSuccess);
    EXPECT_EQ(flags, 0u);
    EXPECT_EQ(hip.hipMemGetAccess(&flags, &one, at), fh::kSuccess);
    EXPECT_EQ(flags, 3u);
    EXPECT_EQ(hip.hipMemGetAccess(&flags, &host, at), fh::kInvalidValue);
    hip.tear_down(at, kChunk, handle);
  });
}

TEST_P(EveryVersion, TheCpuSeesNothingBeforeAHostGrant) {
  const bool can = is({"7.2", "7.14", "7.15"});
  expect_clean(env(), [can](const Hip& hip) {
    void* handle = hip.create(kChunk);
    char* at = hip.reserve(kChunk);
    EXPECT_EQ(hip.hipMemMap(at, kChunk, 0, handle, 0), fh::kSuccess);
    EXPECT_EQ(hip.grant(at, kChunk, {device_access(0)}), fh::kSuccess);
    EXPECT_EQ(hip.hipMemcpy(at, "hello", 5, fh::kCopyHostToDevice), fh::kSuccess);
    EXPECT_FALSE(cpu_reads(at));
    EXPECT_EQ(hip.grant(at, kChunk, {host_access()}), can ? fh::kSuccess : fh::kInvalidValue);
    EXPECT_EQ(cpu_reads(at), can);
    if (can) {
      EXPECT_EQ(std::memcmp(at, "hello", 5), 0);
    }
    EXPECT_EQ(hip.hipMemUnmap(at, kChunk), fh::kSuccess);
    EXPECT_FALSE(cpu_reads(at));
    EXPECT_EQ(hip.hipMemAddressFree(at, kChunk), fh::kSuccess);
    EXPECT_EQ(hip.hipMemRelease(handle), fh::kSuccess);
  });
}

TEST_P(EveryVersion, MemoryComesFromTheCurrentDeviceWhateverTheLabel) {
  expect_clean(env(), [](const Hip& hip) {
    EXPECT_EQ(hip.hipSetDevice(2), fh::kSuccess);
    void* handle = hip.create(kChunk, fh::kHandleFd, 1);
    EXPECT_EQ(hip.fake_hip_device_bytes(1), 0u);
    EXPECT_EQ(hip.fake_hip_device_bytes(2), kChunk);
    fh::AllocationProp prop{};
    EXPECT_EQ(hip.hipMemGetAllocationPropertiesFromHandle(&prop, handle), fh::kSuccess);
    EXPECT_EQ(prop.location.id, 1);
    EXPECT_EQ(hip.hipMemRelease(handle), fh::kSuccess);
  });
}

TEST_P(EveryVersion, ABadMapIsToldAtOnceOrByTheGrant) {
  const bool late = is({"6.2", "7.0", "7.1", "7.2"});
  expect_clean(env(), [late](const Hip& hip) {
    void* handle = hip.create(kChunk);
    char* at = hip.reserve(kChunk);
    // Larger than the memory.
    EXPECT_EQ(hip.hipMemAddressFree(at, kChunk), fh::kSuccess);
    at = hip.reserve(2 * kChunk);
    EXPECT_EQ(hip.hipMemMap(at, 2 * kChunk, 0, handle, 0), late ? fh::kSuccess : fh::kInvalidValue);
    if (late) {
      EXPECT_EQ(hip.grant(at, 2 * kChunk, {device_access(0)}), fh::kInvalidValue);
      EXPECT_EQ(hip.hipMemUnmap(at, 2 * kChunk), fh::kSuccess);
    }
    EXPECT_EQ(hip.hipMemAddressFree(at, 2 * kChunk), fh::kSuccess);
    EXPECT_EQ(hip.hipMemRelease(handle), fh::kSuccess);
  });
}

TEST_P(EveryVersion, AnInjectedLateMapFailureShowsAtTheGrant) {
  expect_clean(env(), [](const Hip& hip) {
    void* handle = hip.create(kChunk);
    char* at = hip.reserve(kChunk);
    EXPECT_EQ(hip.fake_hip_control("fail=hipMemMap:1:1:late"), 0);
    EXPECT_EQ(hip.hipMemMap(at, kChunk, 0, handle, 0), fh::kSuccess);
    EXPECT_EQ(hip.grant(at, kChunk, {device_access(0)}), fh::kInvalidValue);
    hip.tear_down(at, kChunk, handle);
  });
}

TEST_P(EveryVersion, TheTailOfAGrowingRange) {
  const bool fails = is({"7.0", "7.1", "7.2"});
  expect_clean(env(), [fails](const Hip& hip) {
    void* first = hip.create(kChunk);
    void* second = hip.create(kChunk);
    char* at = hip.reserve(2 * kChunk);
    EXPECT_EQ(hip.hipMemMap(at, kChunk, 0, first, 0), fh::kSuccess);
    EXPECT_EQ(hip.grant(at, kChunk, {device_access(0)}), fh::kSuccess);
    EXPECT_EQ(hip.hipMemMap(at + kChunk, kChunk, 0, second, 0), fh::kSuccess);
    EXPECT_EQ(hip.grant(at + kChunk, kChunk, {device_access(0)}), fails ? fh::kInvalidValue : fh::kSuccess);
    EXPECT_EQ(hip.grant(at, 2 * kChunk, {device_access(0)}), fh::kSuccess);
    // Only whole mappings.
    EXPECT_EQ(hip.grant(at, kMiB, {device_access(0)}), fh::kInvalidValue);
    EXPECT_EQ(hip.grant(at, kChunk + kMiB, {device_access(0)}), fh::kInvalidValue);
    EXPECT_EQ(hip.hipMemUnmap(at + kChunk, kChunk), fh::kSuccess);
    EXPECT_EQ(hip.hipMemUnmap(at, kChunk), fh::kSuccess);
    EXPECT_EQ(hip.hipMemAddressFree(at, 2 * kChunk), fh::kSuccess);
    EXPECT_EQ(hip.hipMemRelease(first), fh::kSuccess);
    EXPECT_EQ(hip.hipMemRelease(second), fh::kSuccess);
  });
}

TEST_P(EveryVersion, OwnerGrantedBeforeAPeerReadsWrongPages) {
  const bool wrong = is({"7.14"});
  expect_clean(env(), [wrong](const Hip& hip) {
    for (const bool owner_first : {true, false}) {
      void* handle = hip.create(kChunk);
      char* at = hip.reserve(kChunk);
      EXPECT_EQ(hip.hipMemMap(at, kChunk, 0, handle, 0), fh::kSuccess);
      if (owner_first)
        EXPECT_EQ(hip.grant(at, kChunk, {device_access(0), device_access(1)}), fh::kSuccess);
      else
        EXPECT_EQ(hip.grant(at, kChunk, {device_access(1), device_access(0)}), fh::kSuccess);
      EXPECT_EQ(hip.hipSetDevice(1), fh::kSuccess);
      EXPECT_EQ(hip.hipMemcpy(at, "hello", 5, fh::kCopyHostToDevice), fh::kSuccess);
      EXPECT_EQ(hip.hipSetDevice(0), fh::kSuccess);
      std::string back;
      EXPECT_EQ(read_back(hip, at, back), fh::kSuccess);
      EXPECT_EQ(back == "hello", !(wrong && owner_first));
      // A repeated grant of a peer that has access is harmless.
      if (!owner_first) {
        EXPECT_EQ(hip.grant(at, kChunk, {device_access(1), device_access(0)}), fh::kSuccess);
        EXPECT_EQ(read_back(hip, at, back), fh::kSuccess);
        EXPECT_EQ(back, "hello");
      }
      hip.tear_down(at, kChunk, handle);
    }
  });
}

TEST_P(EveryVersion, AFailingGrantKeepsTheEarlierDescriptors) {
  expect_clean(env(), [](const Hip& hip) {
    void* handle = hip.create(kChunk);
    char* at = hip.reserve(kChunk);
    EXPECT_EQ(hip.hipMemMap(at, kChunk, 0, handle, 0), fh::kSuccess);
    EXPECT_EQ(hip.grant(at, kChunk, {device_access(1), device_access(9), device_access(0)}),
              fh::kInvalidValue);
    unsigned long long flags = 9;
    const fh::Location one{fh::kLocationDevice, 1};
    const fh::Location zero{fh::kLocationDevice, 0};
    EXPECT_EQ(hip.hipMemGetAccess(&flags, &one, at), fh::kSuccess);
    EXPECT_EQ(flags, 3u);
    EXPECT_EQ(hip.hipMemGetAccess(&flags, &zero, at), fh::kSuccess);
    EXPECT_EQ(flags, 0u);
    hip.tear_down(at, kChunk, handle);
  });
}

TEST_P(EveryVersion, AReserveWishMayBeIgnoredAndAlignmentIs) {
  const bool old = is({"6.2", "7.0", "7.1", "7.2"});
  expect_clean(env(), [old](const Hip& hip) {
    char* at = hip.reserve(kChunk);
    EXPECT_EQ(hip.hipMemAddressFree(at, kChunk), fh::kSuccess);
    void* got = nullptr;
    EXPECT_EQ(hip.hipMemAddressReserve(&got, kChunk, 0, at, 0), fh::kSuccess);
    EXPECT_EQ(got, at);
    void* taken = nullptr;  // the place is in use: another one, and success
    EXPECT_EQ(hip.hipMemAddressReserve(&taken, kChunk, 0, at, 0), fh::kSuccess);
    EXPECT_NE(taken, at);
    EXPECT_EQ(hip.hipMemAddressFree(taken, kChunk), fh::kSuccess);
    EXPECT_EQ(hip.hipMemAddressFree(got, kChunk), fh::kSuccess);
    EXPECT_EQ(hip.fake_hip_control("reserve_elsewhere=1"), 0);
    EXPECT_EQ(hip.hipMemAddressReserve(&got, kChunk, 0, at, 0), fh::kSuccess);
    EXPECT_NE(got, at);
    EXPECT_EQ(hip.hipMemAddressFree(got, kChunk), fh::kSuccess);
    EXPECT_EQ(hip.hipMemAddressReserve(&got, kChunk, 64 * kMiB, nullptr, 0), fh::kSuccess);
    EXPECT_NE(reinterpret_cast<std::uintptr_t>(got) % (64 * kMiB), 0u);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(got) % kChunk, 0u);
    EXPECT_EQ(hip.hipMemAddressFree(got, kChunk), fh::kSuccess);
    EXPECT_EQ(hip.fake_hip_control("reserve_small_align=1"), 0);
    EXPECT_EQ(hip.hipMemAddressReserve(&got, kChunk, 0, nullptr, 0), fh::kSuccess);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(got) % kChunk, 4096u);
    EXPECT_EQ(hip.hipMemAddressFree(got, kChunk), fh::kSuccess);
    EXPECT_EQ(hip.hipMemAddressReserve(&got, kChunk + 1, 0, nullptr, 0),
              old ? fh::kOutOfMemory : fh::kInvalidValue);
  });
}

TEST_P(EveryVersion, SizesAndHandleTypesHaveRules) {
  const bool large = is({"7.14", "7.15"});
  expect_clean(env(), [large](const Hip& hip) {
    fh::AllocationProp prop = fd_prop();
    void* handle = nullptr;
    EXPECT_EQ(hip.hipMemCreate(&handle, 4097, &prop, 0), fh::kInvalidValue);
    EXPECT_EQ(hip.hipMemCreate(&handle, 0, &prop, 0), fh::kInvalidValue);
    EXPECT_EQ(hip.hipMemCreate(&handle, kChunk, &prop, 1), fh::kInvalidValue);
    std::size_t size = 0;
    EXPECT_EQ(hip.hipMemGetAllocationGranularity(&size, &prop, 0), fh::kSuccess);
    EXPECT_EQ(size, 4096u);
    EXPECT_EQ(hip.hipMemGetAllocationGranularity(&size, &prop, 1), fh::kSuccess);
    EXPECT_EQ(size, large ? kChunk : 4096u);
    prop.location.id = 4;
    EXPECT_EQ(hip.hipMemCreate(&handle, kChunk, &prop, 0), fh::kInvalidValue);
    prop = fd_prop(0, fh::kHandleFd | fh::kHandleFabric);
    EXPECT_EQ(hip.hipMemCreate(&handle, kChunk, &prop, 0), fh::kNotSupported);
    prop = fd_prop();
    prop.type = fh::kTypeManaged;
    EXPECT_EQ(hip.hipMemCreate(&handle, kChunk, &prop, 0), fh::kInvalidValue);
    EXPECT_EQ(hip.fake_hip_control("no_vmm=1"), 0);
    prop = fd_prop();
    EXPECT_EQ(hip.hipMemCreate(&handle, kChunk, &prop, 0), fh::kNotSupported);
  });
}

TEST_P(EveryVersion, LocationsAndTypesThatCameLater) {
  const bool host = is({"7.2", "7.14", "7.15"});
  const bool numa = is({"7.15"});
  const bool uncached = !is({"6.2"});
  expect_clean(env(), [=](const Hip& hip) {
    const auto creates = [&](const fh::AllocationProp& prop) {
      void* handle = nullptr;
      const HipError error = hip.hipMemCreate(&handle, kChunk, &prop, 0);
      EXPECT_EQ(error == fh::kSuccess ? fh::kInvalidValue : error, fh::kInvalidValue);
      if (error == fh::kSuccess) {
        EXPECT_EQ(hip.hipMemRelease(handle), fh::kSuccess);
      }
      return error == fh::kSuccess;
    };
    fh::AllocationProp prop = fd_prop();
    prop.location.type = fh::kLocationHost;
    EXPECT_EQ(creates(prop), host);
    prop.location.type = fh::kLocationHostNuma;
    EXPECT_EQ(creates(prop), numa);
    prop = fd_prop();
    prop.type = fh::kTypeUncached;
    EXPECT_EQ(creates(prop), uncached);
  });
}

// Kept for the next one that asks, whether for any place or for this one.
TEST_P(EveryVersion, AddressesThatAreReusedAreGivenToWhoWishesForThem) {
  expect_clean(env(), [](const Hip& hip) {
    EXPECT_EQ(hip.fake_hip_control("reuse_addresses=1"), 0);
    char* const at = hip.reserve(kChunk);
    EXPECT_EQ(hip.hipMemAddressFree(at, kChunk), fh::kSuccess);
    void* got = nullptr;
    EXPECT_EQ(hip.hipMemAddressReserve(&got, kChunk, 0, at, 0), fh::kSuccess);
    EXPECT_EQ(got, at);
    void* other = nullptr;
    EXPECT_EQ(hip.hipMemAddressReserve(&other, kChunk, 0, nullptr, 0), fh::kSuccess);
    EXPECT_NE(other, at);
    EXPECT_EQ(hip.hipMemAddressFree(other, kChunk), fh::kSuccess);
    EXPECT_EQ(hip.hipMemAddressFree(got, kChunk), fh::kSuccess);
  });
}

TEST_P(EveryVersion, WhereUnknownAddressesCrash) {
  const auto unmap = [](const Hip& hip) {
    char* at = hip.reserve(kChunk);
    EXPECT_EQ(hip.hipMemUnmap(at, kChunk), fh::kInvalidValue);
    EXPECT_EQ(hip.hipMemAddressFree(at, kChunk), fh::kSuccess);
  };
  const auto address_free = [](const Hip& hip) {
    EXPECT_EQ(hip.hipMemAddressFree(reinterpret_cast<void*>(kChunk), kChunk), fh::kInvalidValue);
  };
  if (is({"6.2"})) {
    expect_abort(env(), unmap);
    expect_abort(env(), address_free);
  } else {
    expect_clean(env(), unmap);
    expect_clean(env(), address_free);
  }
}

TEST_P(EveryVersion, RetainTakesAReferenceOrNot) {
  const bool counts = is({"7.14", "7.15"});
  const auto body = [counts](const Hip& hip) {
    void* handle = hip.create(kChunk);
    char* at = hip.reserve(kChunk);
    EXPECT_EQ(hip.hipMemMap(at, kChunk, 0, handle, 0), fh::kSuccess);
    void* again = nullptr;
    EXPECT_EQ(hip.hipMemRetainAllocationHandle(&again, at + 4096), fh::kInvalidValue);
    EXPECT_EQ(hip.hipMemRetainAllocationHandle(&again, at), fh::kSuccess);
    EXPECT_EQ(again, handle);
    EXPECT_EQ(hip.hipMemRelease(again), fh::kSuccess);
    EXPECT_EQ(hip.fake_hip_count("handles"), counts ? 1 : 0);
    hip.hipMemUnmap(at, kChunk);
    hip.hipMemAddressFree(at, kChunk);
    EXPECT_EQ(hip.hipMemRelease(handle), counts ? fh::kSuccess : fh::kInvalidValue);
  };
  if (counts)
    expect_clean(env(), body);
  else
    expect_complaint(env(), "handle is not alive", body);
}

TEST_P(EveryVersion, RetainOfPlainMemoryCrashesUpTo713) {
  const auto body = [](const Hip& hip) {
    void* at = nullptr;
    void* handle = nullptr;
    EXPECT_EQ(hip.hipMalloc(&at, kChunk), fh::kSuccess);
    EXPECT_EQ(hip.hipMemRetainAllocationHandle(&handle, at), fh::kInvalidValue);
    EXPECT_EQ(hip.hipFree(at), fh::kSuccess);
  };
  if (is({"7.14", "7.15"}))
    expect_clean(env(), body);
  else
    expect_abort(env(), body);
}

TEST_P(EveryVersion, OneUnmapOverSeveralMappings) {
  const auto body = [](const Hip& hip) {
    void* first = hip.create(kChunk);
    void* second = hip.create(kChunk);
    char* at = hip.reserve(2 * kChunk);
    EXPECT_EQ(hip.hipMemMap(at, kChunk, 0, first, 0), fh::kSuccess);
    EXPECT_EQ(hip.hipMemMap(at + kChunk, kChunk, 0, second, 0), fh::kSuccess);
    EXPECT_EQ(hip.hipMemRelease(first), fh::kSuccess);  // a mapping holds the memory
    EXPECT_EQ(hip.fake_hip_device_bytes(0), 2 * kChunk);
    EXPECT_EQ(hip.hipMemUnmap(at, 2 * kChunk), fh::kSuccess);
    EXPECT_EQ(hip.hipMemAddressFree(at, 2 * kChunk), fh::kSuccess);
    EXPECT_EQ(hip.hipMemRelease(second), fh::kSuccess);
  };
  if (is({"6.2"}))
    expect_complaint(env(), "leaks use counts", body);
  else
    expect_clean(env(), body);
}

TEST_P(EveryVersion, AReservationMayPinMemory) {
  const bool pins = is({"7.2"});
  expect_clean(env(), [pins](const Hip& hip) {
    void* handle = hip.create(kChunk);
    char* at = hip.reserve(kChunk);
    EXPECT_EQ(hip.hipMemMap(at, kChunk, 0, handle, 0), fh::kSuccess);
    EXPECT_EQ(hip.hipMemUnmap(at, kChunk), fh::kSuccess);
    EXPECT_EQ(hip.hipMemRelease(handle), fh::kSuccess);
    EXPECT_EQ(hip.fake_hip_device_bytes(0), pins ? kChunk : 0u);
    EXPECT_EQ(hip.hipMemAddressFree(at, kChunk), fh::kSuccess);
    EXPECT_EQ(hip.fake_hip_device_bytes(0), 0u);
  });
}

TEST_P(EveryVersion, WrongTeardownOrderIsToldAndFails) {
  expect_complaint(env(), "still has mappings", [](const Hip& hip) {
    void* handle = hip.create(kChunk);
    char* at = hip.reserve(kChunk);
    EXPECT_EQ(hip.hipMemMap(at, kChunk, 0, handle, 0), fh::kSuccess);
    EXPECT_EQ(hip.hipMemAddressFree(at, kChunk), fh::kInvalidValue);
    hip.tear_down(at, kChunk, handle);
  });
  expect_complaint(env(), "bytes of a reservation of", [](const Hip& hip) {
    char* at = hip.reserve(2 * kChunk);
    EXPECT_EQ(hip.hipMemAddressFree(at, kChunk), fh::kSuccess);
  });
}

// A client of three chunks that gives back whatever it has when a call fails.
bool try_three_chunks(const Hip& hip) {
  constexpr std::size_t kSize = 3 * kChunk;
  std::vector<void*> handles;
  std::size_t mapped = 0;
  void* at = nullptr;
  const fh::AllocationProp prop = fd_prop();
  bool ok = hip.hipMemAddressReserve(&at, kSize, 0, nullptr, 0) == fh::kSuccess;
  for (int i = 0; ok && i < 3; ++i) {
    void* handle = nullptr;
    int fd = -1;
    void* imported = nullptr;
    if ((ok = hip.hipMemCreate(&handle, kChunk, &prop, 0) == fh::kSuccess)) handles.push_back(handle);
    ok = ok && hip.hipMemExportToShareableHandle(&fd, handle, fh::kHandleFd, 0) == fh::kSuccess;
    const UniqueFd owned(fd);
    ok = ok && hip.import_fd(&imported, fd) == fh::kSuccess;
    if (imported != nullptr) handles.push_back(imported);
    ok = ok && hip.hipMemMap(static_cast<char*>(at) + mapped, kChunk, 0, imported, 0) == fh::kSuccess;
    if (ok) mapped += kChunk;
  }
  const fh::AccessDesc peer_then_owner[] = {device_access(1), device_access(0)};
  ok = ok && hip.hipMemSetAccess(at, kSize, peer_then_owner, 2) == fh::kSuccess;
  while (mapped > 0)
    ok = hip.hipMemUnmap(static_cast<char*>(at) + (mapped -= kChunk), kChunk) == fh::kSuccess && ok;
  if (at != nullptr) ok = hip.hipMemAddressFree(at, kSize) == fh::kSuccess && ok;
  for (void* handle : handles) ok = hip.hipMemRelease(handle) == fh::kSuccess && ok;
  return ok;
}

TEST_P(EveryVersion, EveryCallCanFailAndACarefulClientLeavesNothing) {
  for (const char* function : {"any", "hipMemMap"}) {
    expect_clean(env(), [function](const Hip& hip) {
      EXPECT_TRUE(try_three_chunks(hip));
      const std::size_t fds = count_fds();
      int failures = 0;
      for (;; ++failures) {
        const std::string late = std::string(function) == "hipMemMap" ? ":late" : ":";
        const std::string rule = "fail=" + std::string(function) + ":" + std::to_string(failures + 1) + ":2";
        ASSERT_EQ(hip.fake_hip_control((late == ":late" ? rule + late : rule).c_str()), 0);
        const bool ok = try_three_chunks(hip);
        ASSERT_EQ(hip.fake_hip_report(1), 0) << rule;
        ASSERT_EQ(count_fds(), fds) << rule;
        ASSERT_EQ(hip.fake_hip_device_bytes(0), 0u) << rule;
        if (ok) break;
      }
      EXPECT_EQ(failures, std::string(function) == "any" ? 1 + 3 * 4 + 1 + 3 + 1 + 6 : 3);
    });
  }
}

}  // namespace
}  // namespace hb::test
