// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// HIP's C ABI as every AMD runtime from 6.2 on has it, and the little of HSA that is used: own declarations,
// so that the build needs no ROCm and one binary serves every node. A header found at build time would not
// do: 5.2's hipMemAllocationProp has the same size and another field order. Numbers are those of AMD's
// enums; the NVIDIA platform's differ. tests/unit/hip compares with real headers where a build finds some.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hb::client::hip {

using HipError = int;
enum : HipError {
  kSuccess = 0,
  kInvalidValue = 1,
  kOutOfMemory = 2,
  kNotInitialized = 3,
  kNoDevice = 100,
  kInvalidDevice = 101,
  kInvalidHandle = 400,
  kNotFound = 500,
  kNotReady = 600,
  kLaunchFailure = 719,
  kNotSupported = 801,
  kStreamCaptureUnsupported = 900,  // 900..908 all speak of a capture
  kStreamCaptureLast = 908,
  kUnknownError = 999,
};

enum LocationType : int {
  kLocationInvalid = 0,
  kLocationDevice = 1,
  kLocationHost = 2,
  kLocationHostNuma = 3
};
enum AccessFlags : int { kProtNone = 0, kProtRead = 1, kProtReadWrite = 3 };
enum AllocationType : int { kAllocationPinned = 1, kAllocationUncached = 0x40000000 };
enum HandleType : int { kHandleNone = 0, kHandleFd = 1, kHandleFabric = 8 };
enum GranularityOption : int { kGranularityMinimum = 0, kGranularityRecommended = 1 };
enum CopyKind : int { kCopyHostToDevice = 1, kCopyDeviceToHost = 2, kCopyDeviceToDevice = 3 };
enum CaptureMode : int { kCaptureGlobal = 0, kCaptureThreadLocal = 1, kCaptureRelaxed = 2 };
enum ExternalHandleType : int { kExternalOpaqueFd = 1 };
enum DeviceAttribute : int { kAttributeVmm = 89, kAttributeLargeBar = 10011 };
enum PointerAttribute : int {
  kPointerMemoryType = 2,
  kPointerDevicePointer = 3,
  kPointerHostPointer = 4,
  kPointerBufferId = 7,
  kPointerDeviceOrdinal = 9,
  kPointerIpcCapable = 10,  // answered from 7.11 on
  kPointerRangeStart = 11,
  kPointerRangeSize = 12,
  kPointerMempool = 17,
};
enum RangeHandleType : int { kRangeDmaBuf = 1 };
// hipMemoryType as numbered since 6.0.
enum MemoryType : int { kMemoryUnregistered = 0, kMemoryHost = 1, kMemoryDevice = 2, kMemoryManaged = 3 };

struct OpaqueAllocation;
using MemHandle = OpaqueAllocation*;
using ExternalMemory = void*;
using Stream = void*;

struct MemLocation {
  int type;
  int id;
};
struct MemAccessDesc {
  MemLocation location;
  int flags;
};
struct MemAllocationProp {
  int type;
  int requested_handle_type;
  MemLocation location;
  void* win32_handle_metadata;
  struct {
    unsigned char compression_type;
    unsigned char gpu_direct_rdma_capable;
    unsigned short usage;
  } alloc_flags;
};
struct PointerAttributes {
  int type;
  int device;
  void* device_pointer;
  void* host_pointer;
  int is_managed;
  unsigned allocation_flags;
};
// The larger form: a runtime that knows the shorter one reads its part of the zeroed rest.
struct ExternalMemoryHandleDesc {
  int type;
  union {
    int descriptor;
    struct {
      void* handle;
      const void* name;
    } win32;
  } handle;
  unsigned long long size;
  unsigned flags;
  unsigned reserved[16];
};
struct ExternalMemoryBufferDesc {
  unsigned long long offset;
  unsigned long long size;
  unsigned flags;
  unsigned reserved[16];
};
struct Uuid {
  char bytes[16];  // AMD: characters, not binary; no end mark
};

static_assert(sizeof(void*) == 8, "the layouts below are those of 64-bit Linux");
static_assert(sizeof(MemLocation) == 8 && sizeof(MemAccessDesc) == 12 && offsetof(MemAccessDesc, flags) == 8);
static_assert(sizeof(MemAllocationProp) == 32 && offsetof(MemAllocationProp, type) == 0 &&
              offsetof(MemAllocationProp, requested_handle_type) == 4 &&
              offsetof(MemAllocationProp, location) == 8 &&
              offsetof(MemAllocationProp, win32_handle_metadata) == 16 &&
              offsetof(MemAllocationProp, alloc_flags) == 24);
static_assert(sizeof(PointerAttributes) == 32 && offsetof(PointerAttributes, device_pointer) == 8 &&
              offsetof(PointerAttributes, is_managed) == 24);
static_assert(sizeof(ExternalMemoryHandleDesc) == 104 && offsetof(ExternalMemoryHandleDesc, handle) == 8 &&
              offsetof(ExternalMemoryHandleDesc, size) == 24 &&
              offsetof(ExternalMemoryHandleDesc, flags) == 32);
static_assert(offsetof(ExternalMemoryBufferDesc, size) == 8 &&
              offsetof(ExternalMemoryBufferDesc, flags) == 16);
static_assert(sizeof(Uuid) == 16);

// name, parameters; all return HipError.
#define HB_HIP_REQUIRED(F)                                                                            \
  F(hipRuntimeGetVersion, (int* version))                                                             \
  F(hipGetDeviceCount, (int* count))                                                                  \
  F(hipGetDevice, (int* device))                                                                      \
  F(hipSetDevice, (int device))                                                                       \
  F(hipDeviceGetUuid, (Uuid * uuid, int device))                                                      \
  F(hipDeviceGetPCIBusId, (char* text, int bytes, int device))                                        \
  F(hipDeviceGetAttribute, (int* value, int attribute, int device))                                   \
  F(hipDeviceCanAccessPeer, (int* can, int device, int peer))                                         \
  F(hipGetLastError, (void))                                                                          \
  F(hipPeekAtLastError, (void))                                                                       \
  F(hipThreadExchangeStreamCaptureMode, (int* mode))                                                  \
  F(hipMemGetAllocationGranularity, (std::size_t * bytes, const MemAllocationProp* prop, int option)) \
  F(hipMemCreate,                                                                                     \
    (MemHandle * handle, std::size_t bytes, const MemAllocationProp* prop, unsigned long long flags)) \
  F(hipMemRelease, (MemHandle handle))                                                                \
  F(hipMemAddressReserve,                                                                             \
    (void** ptr, std::size_t bytes, std::size_t alignment, void* wish, unsigned long long flags))     \
  F(hipMemAddressFree, (void* ptr, std::size_t bytes))                                                \
  F(hipMemMap,                                                                                        \
    (void* ptr, std::size_t bytes, std::size_t offset, MemHandle handle, unsigned long long flags))   \
  F(hipMemUnmap, (void* ptr, std::size_t bytes))                                                      \
  F(hipMemSetAccess, (void* ptr, std::size_t bytes, const MemAccessDesc* desc, std::size_t count))    \
  F(hipMemExportToShareableHandle, (void* out, MemHandle handle, int type, unsigned long long flags)) \
  F(hipMemImportFromShareableHandle, (MemHandle * handle, void* os_handle, int type))

#define HB_HIP_OPTIONAL(F)                                                                    \
  F(hipMemGetAccess, (unsigned long long* flags, const MemLocation* location, void* ptr))     \
  F(hipMemRetainAllocationHandle, (MemHandle * handle, void* ptr))                            \
  F(hipMemGetAllocationPropertiesFromHandle, (MemAllocationProp * prop, MemHandle handle))    \
  F(hipMemGetHandleForAddressRange,                                                           \
    (void* out, void* ptr, std::size_t bytes, int type, unsigned long long flags))            \
  F(hipPointerGetAttributes, (PointerAttributes * attributes, const void* ptr))               \
  F(hipPointerGetAttribute, (void* value, int attribute, void* ptr))                          \
  F(hipMemGetAddressRange, (void** base, std::size_t* bytes, void* ptr))                      \
  F(hipImportExternalMemory, (ExternalMemory * memory, const ExternalMemoryHandleDesc* desc)) \
  F(hipExternalMemoryGetMappedBuffer,                                                         \
    (void** ptr, ExternalMemory memory, const ExternalMemoryBufferDesc* desc))                \
  F(hipDestroyExternalMemory, (ExternalMemory memory))                                        \
  F(hipStreamCreateWithFlags, (Stream * stream, unsigned flags))                              \
  F(hipStreamDestroy, (Stream stream))                                                        \
  F(hipStreamSynchronize, (Stream stream))                                                    \
  F(hipMemcpyAsync, (void* to, const void* from, std::size_t bytes, int kind, Stream stream)) \
  F(hipEventQuery, (void* event))

struct HipTable {
#define HB_HIP_MEMBER(name, parameters) HipError(*name) parameters = nullptr;
  HB_HIP_REQUIRED(HB_HIP_MEMBER)
  HB_HIP_OPTIONAL(HB_HIP_MEMBER)
#undef HB_HIP_MEMBER
  const char* (*hipGetErrorName)(HipError error) = nullptr;
};

// ---- HSA ----------------------------------------------------------------------------------------
using HsaStatus = int;
inline constexpr HsaStatus kHsaSuccess = 0;
enum HsaPointerType : std::uint32_t {
  kHsaUnknown = 0,
  kHsaAllocation = 1,
  kHsaLocked = 2,
  kHsaGraphics = 3,
  kHsaIpc = 4,
  kHsaReserved = 5,
  kHsaVmem = 6,
};
// hsa_amd_pointer_info_t as far as every version has it; `size` tells the runtime how much that is.
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
static_assert(offsetof(HsaPointerInfo, agent_base_address) == 8 &&
              offsetof(HsaPointerInfo, size_in_bytes) == 24 && offsetof(HsaPointerInfo, agent_owner) == 40 &&
              offsetof(HsaPointerInfo, global_flags) == 48);

struct HsaTable {
  HsaStatus (*hsa_amd_pointer_info)(const void* ptr, HsaPointerInfo* info, void* (*allocate)(std::size_t),
                                    std::uint32_t* count, std::uint64_t** accessible) = nullptr;
  HsaStatus (*hsa_amd_portable_export_dmabuf)(const void* ptr, std::size_t bytes, int* descriptor,
                                              std::uint64_t* offset) = nullptr;
  HsaStatus (*hsa_amd_portable_close_dmabuf)(int descriptor) = nullptr;
};

}  // namespace hb::client::hip
