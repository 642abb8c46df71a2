// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// HIP as a program calls it, past the library: own declarations, so that the build needs no ROCm.
#pragma once

#include <cstddef>
#include <string>

namespace hb::selftest {

struct HipLocation {
  int type;
  int id;
};
struct HipAllocationProp {
  int type;
  int handle_type;
  HipLocation location;
  void* win32;
  unsigned char flags[8];
};
struct HipAccess {
  HipLocation location;
  int flags;
};

// name, parameters; all return a hipError_t.
#define HB_SELFTEST_HIP(F)                                                                                 \
  F(hipSetDevice, (int device))                                                                            \
  F(hipStreamCreateWithFlags, (void** stream, unsigned flags))                                             \
  F(hipStreamSynchronize, (void* stream))                                                                  \
  F(hipStreamDestroy, (void* stream))                                                                      \
  F(hipMemcpyAsync, (void* to, const void* from, std::size_t bytes, int kind, void* stream))               \
  F(hipEventCreateWithFlags, (void** event, unsigned flags))                                               \
  F(hipEventRecord, (void* event, void* stream))                                                           \
  F(hipEventDestroy, (void* event))                                                                        \
  F(hipMalloc, (void** ptr, std::size_t bytes))                                                            \
  F(hipFree, (void* ptr))                                                                                  \
  F(hipMallocAsync, (void** ptr, std::size_t bytes, void* stream))                                         \
  F(hipHostMalloc, (void** ptr, std::size_t bytes, unsigned flags))                                        \
  F(hipHostFree, (void* ptr))                                                                              \
  F(hipMemGetAllocationGranularity, (std::size_t * bytes, const HipAllocationProp* prop, int option))      \
  F(hipMemCreate,                                                                                          \
    (void** handle, std::size_t bytes, const HipAllocationProp* prop, unsigned long long flags))           \
  F(hipMemRelease, (void* handle))                                                                         \
  F(hipMemAddressReserve,                                                                                  \
    (void** ptr, std::size_t bytes, std::size_t alignment, void* wish, unsigned long long flags))          \
  F(hipMemAddressFree, (void* ptr, std::size_t bytes))                                                     \
  F(hipMemMap, (void* ptr, std::size_t bytes, std::size_t offset, void* handle, unsigned long long flags)) \
  F(hipMemUnmap, (void* ptr, std::size_t bytes))                                                           \
  F(hipMemSetAccess, (void* ptr, std::size_t bytes, const HipAccess* access, std::size_t count))

struct HipCalls {
#define HB_SELFTEST_MEMBER(name, parameters) int(*name) parameters = nullptr;
  HB_SELFTEST_HIP(HB_SELFTEST_MEMBER)
#undef HB_SELFTEST_MEMBER
  const char* (*hipGetErrorName)(int error) = nullptr;
  std::string wrong;  // why there is none of it
};

// Of the runtime that the library loads; the first call has it loaded.
[[nodiscard]] const HipCalls& hip_calls();

// "" for success, else the call and the error by its name.
[[nodiscard]] std::string hip_failure(const char* call, int code);

}  // namespace hb::selftest
