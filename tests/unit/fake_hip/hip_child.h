// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Runs a test body in a child process that loads the fake with its own environment: versions, devices and
// leaks are per process, as with the real runtime. EXPECT_* in the body count; the child's exit status is the
// fake's verdict on leaks when the body had no failure.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <string>

#include "fake_hip/abi.h"
#include "fake_hip/fake_hip.h"

namespace hb::test {

namespace fh = hb::fakehip;
using fh::HipError;

// Every entry point the tests call: name, result, parameters.
#define HIP_FUNCTIONS(F)                                                                              \
  F(hipInit, HipError, (unsigned))                                                                    \
  F(hipRuntimeGetVersion, HipError, (int*))                                                           \
  F(hipGetDeviceCount, HipError, (int*))                                                              \
  F(hipSetDevice, HipError, (int))                                                                    \
  F(hipGetDevice, HipError, (int*))                                                                   \
  F(hipDeviceGetUuid, HipError, (fh::Uuid*, int))                                                     \
  F(hipDeviceGetPCIBusId, HipError, (char*, int, int))                                                \
  F(hipDeviceGetAttribute, HipError, (int*, int, int))                                                \
  F(hipDeviceCanAccessPeer, HipError, (int*, int, int))                                               \
  F(hipDeviceEnablePeerAccess, HipError, (int, unsigned))                                             \
  F(hipDeviceSynchronize, HipError, ())                                                               \
  F(hipGetLastError, HipError, ())                                                                    \
  F(hipPeekAtLastError, HipError, ())                                                                 \
  F(hipGetErrorName, const char*, (HipError))                                                         \
  F(hipMemGetInfo, HipError, (std::size_t*, std::size_t*))                                            \
  F(hipMemGetAllocationGranularity, HipError, (std::size_t*, const fh::AllocationProp*, int))         \
  F(hipMemCreate, HipError, (void**, std::size_t, const fh::AllocationProp*, unsigned long long))     \
  F(hipMemRelease, HipError, (void*))                                                                 \
  F(hipMemAddressReserve, HipError, (void**, std::size_t, std::size_t, void*, unsigned long long))    \
  F(hipMemAddressFree, HipError, (void*, std::size_t))                                                \
  F(hipMemMap, HipError, (void*, std::size_t, std::size_t, void*, unsigned long long))                \
  F(hipMemUnmap, HipError, (void*, std::size_t))                                                      \
  F(hipMemSetAccess, HipError, (void*, std::size_t, const fh::AccessDesc*, std::size_t))              \
  F(hipMemGetAccess, HipError, (unsigned long long*, const fh::Location*, void*))                     \
  F(hipMemExportToShareableHandle, HipError, (void*, void*, int, unsigned long long))                 \
  F(hipMemImportFromShareableHandle, HipError, (void**, void*, int))                                  \
  F(hipMemRetainAllocationHandle, HipError, (void**, void*))                                          \
  F(hipMemGetAllocationPropertiesFromHandle, HipError, (fh::AllocationProp*, void*))                  \
  F(hipMemcpy, HipError, (void*, const void*, std::size_t, int))                                      \
  F(hipMemcpyAsync, HipError, (void*, const void*, std::size_t, int, void*))                          \
  F(hipMemset, HipError, (void*, int, std::size_t))                                                   \
  F(hipMalloc, HipError, (void**, std::size_t))                                                       \
  F(hipFree, HipError, (void*))                                                                       \
  F(hipMallocAsync, HipError, (void**, std::size_t, void*))                                           \
  F(hipFreeAsync, HipError, (void*, void*))                                                           \
  F(hipHostMalloc, HipError, (void**, std::size_t, unsigned))                                         \
  F(hipHostFree, HipError, (void*))                                                                   \
  F(hipPointerGetAttributes, HipError, (fh::PointerAttributes*, const void*))                         \
  F(hipPointerGetAttribute, HipError, (void*, int, void*))                                            \
  F(hipMemGetAddressRange, HipError, (void**, std::size_t*, void*))                                   \
  F(hipImportExternalMemory, HipError, (void**, const fh::ExternalMemoryHandleDesc*))                 \
  F(hipExternalMemoryGetMappedBuffer, HipError, (void**, void*, const fh::ExternalMemoryBufferDesc*)) \
  F(hipDestroyExternalMemory, HipError, (void*))                                                      \
  F(hipIpcGetMemHandle, HipError, (fh::IpcHandle*, void*))                                            \
  F(hipIpcOpenMemHandle, HipError, (void**, fh::IpcHandle, unsigned))                                 \
  F(hipStreamCreateWithFlags, HipError, (void**, unsigned))                                           \
  F(hipStreamDestroy, HipError, (void*))                                                              \
  F(hipStreamSynchronize, HipError, (void*))                                                          \
  F(hipStreamQuery, HipError, (void*))                                                                \
  F(hipStreamWaitEvent, HipError, (void*, void*, unsigned))                                           \
  F(hipStreamBeginCapture, HipError, (void*, int))                                                    \
  F(hipStreamEndCapture, HipError, (void*, void**))                                                   \
  F(hipStreamIsCapturing, HipError, (void*, int*))                                                    \
  F(hipThreadExchangeStreamCaptureMode, HipError, (int*))                                             \
  F(hipEventCreateWithFlags, HipError, (void**, unsigned))                                            \
  F(hipEventDestroy, HipError, (void*))                                                               \
  F(hipEventRecord, HipError, (void*, void*))                                                         \
  F(hipEventQuery, HipError, (void*))                                                                 \
  F(fake_hip_control, int, (const char*))                                                             \
  F(fake_hip_count, long long, (const char*))                                                         \
  F(fake_hip_device_bytes, unsigned long long, (int))                                                 \
  F(fake_hip_report, int, (int))                                                                      \
  F(fake_hip_write_sysfs, int, (const char*))

struct Hip {
#define HIP_MEMBER(name, result, parameters) result(*name) parameters = nullptr;
  HIP_FUNCTIONS(HIP_MEMBER)
#undef HIP_MEMBER
  void* library = nullptr;
  bool fd_by_pointer = false;

  // Loads the fake for FAKE_HIP_VERSION (6.x from the .so.6). Aborts when it cannot.
  static Hip load();
  void* symbol(const char* name) const;

  // Shorthand that expects success.
  void* create(std::size_t size, int handle_type = fh::kHandleFd, int device = 0) const;
  int export_fd(void* handle) const;
  HipError import_fd(void** handle, int fd) const;  // in this version's form
  char* reserve(std::size_t size) const;
  HipError grant(void* at, std::size_t size, std::initializer_list<fh::AccessDesc> list) const;
  // unmap, address free, release; all expected to succeed.
  void tear_down(void* at, std::size_t size, void* handle) const;
};

inline fh::AccessDesc device_access(int ordinal, int flags = fh::kProtReadWrite) {
  return {{fh::kLocationDevice, ordinal}, flags};
}
inline fh::AccessDesc host_access() { return {{fh::kLocationHost, 0}, fh::kProtReadWrite}; }
fh::AllocationProp fd_prop(int device = 0, int handle_type = fh::kHandleFd);
// Whether the CPU may read the byte, without dying of the answer.
bool cpu_reads(const void* at);

inline constexpr std::size_t kMiB = 1u << 20;
inline constexpr std::size_t kChunk = 2 * kMiB;

using Env = std::map<std::string, std::string>;
struct ChildResult {
  int exit_code = -1;  // -1: died of a signal
  int signal = 0;
  std::string errors;  // its stderr
};
// Forks, sets the environment, loads the fake, runs the body and exits by exit().
ChildResult run_child(const Env& env, const std::function<void(const Hip&)>& body);
// The usual case: body without failure, no leak, no violation.
void expect_clean(const Env& env, const std::function<void(const Hip&)>& body);
// The real runtime crashes here.
void expect_abort(const Env& env, const std::function<void(const Hip&)>& body);
void expect_complaint(const Env& env, const std::string& words, const std::function<void(const Hip&)>& body);

// A test that runs in every version the fake is told apart in.
class VersionTest : public testing::TestWithParam<std::string> {
 public:
  static std::string name(const testing::TestParamInfo<std::string>& parameter) {
    std::string out = "v" + parameter.param;
    out[out.find('.')] = '_';
    return out;
  }

 protected:
  [[nodiscard]] Env env() const { return {{"FAKE_HIP_VERSION", GetParam()}}; }
  [[nodiscard]] bool is(std::initializer_list<const char*> versions) const {
    for (const char* version : versions)
      if (GetParam() == version) return true;
    return false;
  }
};
#define IN_EVERY_VERSION(fixture)                                                                         \
  INSTANTIATE_TEST_SUITE_P(FakeHip, fixture, testing::Values("6.2", "7.0", "7.1", "7.2", "7.14", "7.15"), \
                           VersionTest::name)

}  // namespace hb::test
