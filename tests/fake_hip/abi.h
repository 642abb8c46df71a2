// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// The part of HIP's C ABI (>= 6.2, AMD platform) that the fake speaks, declared by hand: no HIP header is
// needed, and the numbers do not follow whatever header a build machine happens to have.
#pragma once

#include <cstddef>
#include <cstdint>

#define FAKE_API extern "C" __attribute__((visibility("default")))

namespace hb::fakehip {

using HipError = int;
enum : HipError {
  kSuccess = 0,
  kInvalidValue = 1,
  kOutOfMemory = 2,
  kNotInitialized = 3,
  kInvalidDevicePointer = 17,
  kInvalidMemcpyDirection = 21,
  kNoDevice = 100,
  kInvalidDevice = 101,
  kInvalidContext = 201,
  kInvalidHandle = 400,
  kNotFound = 500,
  kNotReady = 600,
  kIllegalAddress = 700,
  kPeerAccessAlreadyEnabled = 704,
  kPeerAccessNotEnabled = 705,
  kHostMemoryAlreadyRegistered = 712,
  kHostMemoryNotRegistered = 713,
  kLaunchFailure = 719,
  kNotSupported = 801,
  kStreamCaptureUnsupported = 900,
  kStreamCaptureInvalidated = 901,
  kCapturedEvent = 907,
  kUnknown = 999,
};

enum : int { kLocationInvalid = 0, kLocationDevice = 1, kLocationHost = 2, kLocationHostNuma = 3 };
enum : int { kProtNone = 0, kProtRead = 1, kProtReadWrite = 3 };
enum : int { kTypePinned = 1, kTypeManaged = 2, kTypeUncached = 0x40000000 };
enum : int { kHandleNone = 0, kHandleFd = 1, kHandleFabric = 8 };
enum : int {
  kCopyHostToHost = 0,
  kCopyHostToDevice = 1,
  kCopyDeviceToHost = 2,
  kCopyDeviceToDevice = 3,
  kCopyDefault = 4
};
// hipMemoryType as renumbered in 6.0; older runtimes are not imitated.
enum : int { kMemoryUnregistered = 0, kMemoryHost = 1, kMemoryDevice = 2, kMemoryManaged = 3 };
enum : int { kCaptureGlobal = 0, kCaptureThreadLocal = 1, kCaptureRelaxed = 2 };

struct Location {
  int type;
  int id;
};

struct AccessDesc {
  Location location;
  int flags;
};
static_assert(sizeof(AccessDesc) == 12);

// hipMemAllocationProp since 5.3. In 5.2 the fields stand in another order.
struct AllocationProp {
  int type;
  int requested_handle_type;
  Location location;
  void* win32_handle_metadata;
  struct {
    unsigned char compression_type;
    unsigned char gpu_direct_rdma_capable;
    unsigned short usage;
  } alloc_flags;
};
static_assert(sizeof(AllocationProp) == 32 && offsetof(AllocationProp, location) == 8 &&
              offsetof(AllocationProp, win32_handle_metadata) == 16 &&
              offsetof(AllocationProp, alloc_flags) == 24);

struct PointerAttributes {
  int type;
  int device;
  void* device_pointer;
  void* host_pointer;
  int is_managed;
  unsigned allocation_flags;
};
static_assert(sizeof(PointerAttributes) == 32);

struct ExternalMemoryHandleDesc {
  int type;
  union {
    int fd;
    struct {
      void* handle;
      const void* name;
    } win32;
  } handle;
  unsigned long long size;
  unsigned flags;
  unsigned reserved[16];
};
static_assert(sizeof(ExternalMemoryHandleDesc) == 104 && offsetof(ExternalMemoryHandleDesc, size) == 24);

struct ExternalMemoryBufferDesc {
  unsigned long long offset;
  unsigned long long size;
  unsigned flags;
  unsigned reserved[16];
};

struct IpcHandle {
  unsigned char bytes[64];
};
struct Uuid {
  char bytes[16];
};

// hsa_amd_pointer_info_t as far as every version has it; the caller sets `size` to what it knows.
struct HsaPointerInfo {
  std::uint32_t size;
  std::uint32_t type;
  void* agent_base_address;
  void* host_base_address;
  std::size_t size_in_bytes;
  void* user_data;
  std::uint64_t agent_owner;
  std::uint32_t global_flags;
};
enum : std::uint32_t { kHsaUnknown = 0, kHsaAllocation = 1, kHsaLocked = 2, kHsaVmem = 6, kHsaReserved = 5 };
enum : int {
  kHsaSuccess = 0,
  kHsaError = 0x1000,
  kHsaInvalidArgument = 0x1001,
  kHsaInvalidAllocation = 0x1003,
  kHsaInvalidAgent = 0x1004,
  kHsaOutOfResources = 0x1008,
};

}  // namespace hb::fakehip
