// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// What the verbs of a process with a GPU share. Private to the files whose verbs these are.
#pragma once

#include "fake_hip/abi.h"
#include "support/actor_verbs.h"

namespace hb::test {

// The program's own calls of its runtime.
#define HB_GPU_CALLS(F)                                                                                  \
  F(hipGetDeviceCount, (int* count))                                                                     \
  F(hipGetDevice, (int* device))                                                                         \
  F(hipSetDevice, (int device))                                                                          \
  F(hipGetLastError, ())                                                                                 \
  F(hipPeekAtLastError, ())                                                                              \
  F(hipMemGetInfo, (std::size_t * free_bytes, std::size_t * total))                                      \
  F(hipMalloc, (void** ptr, std::size_t bytes))                                                          \
  F(hipFree, (void* ptr))                                                                                \
  F(hipMemcpy, (void* to, const void* from, std::size_t bytes, int kind))                                \
  F(hipMemCreate,                                                                                        \
    (void** handle, std::size_t bytes, const fakehip::AllocationProp* prop, unsigned long long))         \
  F(hipMemRelease, (void* handle))                                                                       \
  F(hipMemAddressReserve, (void** ptr, std::size_t bytes, std::size_t, void* wish, unsigned long long))  \
  F(hipMemAddressFree, (void* ptr, std::size_t bytes))                                                   \
  F(hipMemMap, (void* ptr, std::size_t bytes, std::size_t offset, void* handle, unsigned long long))     \
  F(hipMemUnmap, (void* ptr, std::size_t bytes))                                                         \
  F(hipMemSetAccess, (void* ptr, std::size_t bytes, const fakehip::AccessDesc* desc, std::size_t count)) \
  F(hipMemExportToShareableHandle, (void* out, void* handle, int type, unsigned long long flags))        \
  F(hipMemImportFromShareableHandle, (void** handle, void* os_handle, int type))

struct HipCalls {
#define HB_GPU_MEMBER(name, parameters) int(*name) parameters = nullptr;
  HB_GPU_CALLS(HB_GPU_MEMBER)
#undef HB_GPU_MEMBER
  const char* (*hipGetErrorName)(int code) = nullptr;
};
// Of the shim in HB_GPU_SHIM; throws when it cannot be loaded.
[[nodiscard]] const HipCalls& hip();
// Throws, naming the call and the error, unless `code` is hipSuccess.
void must(int code, const char* call);

// bench_attach socket= name= samples=: medians in nanoseconds of attaching and detaching the export, through
// the broker and by raw calls of libcuda with the same descriptor.
Message bench_attach(ActorState& state, const Message& m);
// framework_share name= chunks= seed=, framework_free: memory of handles of the program's own
Message framework_share(ActorState& state, const Message& m);
Message framework_free(ActorState& state, const Message& m);
// shim_calls mem=|import= retain_counts=: what else the shim answers, and what of it is not as expected
Message shim_calls(ActorState& state, const Message& m);

}  // namespace hb::test
