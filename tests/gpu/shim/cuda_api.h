// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// The part of CUDA's driver API that the shim calls and fake_cuda answers: own declarations, so that the
// build needs no CUDA. cuda_headers_check.cc compares them with cuda.h where a build finds one.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hb::cuda {

using Result = int;
enum : Result {
  kSuccess = 0,
  kInvalidValue = 1,
  kOutOfMemory = 2,
  kNotInitialized = 3,
  kNoDevice = 100,
  kInvalidDevice = 101,
  kInvalidContext = 201,
  kOperatingSystem = 304,
  kInvalidHandle = 400,
  kNotFound = 500,
  kNotReady = 600,
  kNotSupported = 801,
  kUnknown = 999,
};

using Device = int;
using DevicePtr = unsigned long long;
using MemHandle = unsigned long long;
using Context = struct OpaqueContext*;
using Stream = struct OpaqueStream*;
using Event = struct OpaqueEvent*;
using ExternalMemory = struct OpaqueExternalMemory*;

enum DeviceAttribute : int {
  kAttributePciBus = 33,
  kAttributePciDevice = 34,
  kAttributePciDomain = 50,
  kAttributeVmm = 102,
  kAttributeDmaBuf = 124,
};
enum PointerAttribute : int {
  kPointerMemoryType = 2,
  kPointerDevicePointer = 3,
  kPointerHostPointer = 4,
  kPointerBufferId = 7,
  kPointerIsManaged = 8,
  kPointerOrdinal = 9,
  kPointerRangeStart = 11,
  kPointerRangeSize = 12,
};
enum MemoryType : int { kMemoryHost = 1, kMemoryDevice = 2 };
enum LocationType : int { kLocationInvalid = 0, kLocationDevice = 1, kLocationHost = 2 };
enum AccessFlags : int { kProtNone = 0, kProtRead = 1, kProtReadWrite = 3 };
enum AllocationType : int { kAllocationPinned = 1 };
enum HandleType : int { kHandleNone = 0, kHandleFd = 1 };
enum ExternalHandleType : int { kExternalOpaqueFd = 1 };
enum RangeHandleType : int { kRangeDmaBuf = 1 };
enum StreamFlags : unsigned { kStreamNonBlocking = 1 };
enum HostAllocFlags : unsigned { kHostAllocPortable = 1 };

struct Uuid {
  char bytes[16];  // binary
};
struct Location {
  int type;
  int id;
};
struct AccessDesc {
  Location location;
  int flags;
};
struct AllocationProp {
  int type;
  int handle_types;
  Location location;
  void* win32_handle_metadata;
  struct {
    unsigned char compression_type;
    unsigned char gpu_direct_rdma_capable;
    unsigned short usage;
    unsigned char reserved[4];
  } alloc_flags;
};
struct ExternalHandleDesc {
  int type;
  union {
    int fd;
    struct {
      void* handle;
      const void* name;
    } win32;
    const void* nv_sci_buf;
  } handle;
  unsigned long long size;
  unsigned flags;
  unsigned reserved[16];
};
struct ExternalBufferDesc {
  unsigned long long offset;
  unsigned long long size;
  unsigned flags;
  unsigned reserved[16];
};

// symbol, parameters; all return Result. The symbols are those of the ABI: where a call has got a second
// version, cuda.h maps the plain name to it.
#define HB_CUDA_FUNCTIONS(F)                                                                                \
  F(cuInit, (unsigned flags))                                                                               \
  F(cuDeviceGet, (Device * device, int ordinal))                                                            \
  F(cuDeviceGetCount, (int* count))                                                                         \
  F(cuDeviceGetName, (char* text, int bytes, Device device))                                                \
  F(cuDeviceGetAttribute, (int* value, DeviceAttribute attribute, Device device))                           \
  F(cuDeviceGetPCIBusId, (char* text, int bytes, Device device))                                            \
  F(cuDeviceGetUuid_v2, (Uuid * uuid, Device device))                                                       \
  F(cuDeviceTotalMem_v2, (std::size_t * bytes, Device device))                                              \
  F(cuDeviceCanAccessPeer, (int* can, Device device, Device peer))                                          \
  F(cuDevicePrimaryCtxRetain, (Context * context, Device device))                                           \
  F(cuCtxSetCurrent, (Context context))                                                                     \
  F(cuCtxSynchronize, (void))                                                                               \
  F(cuThreadExchangeStreamCaptureMode, (int* mode))                                                         \
  F(cuMemGetInfo_v2, (std::size_t * free_bytes, std::size_t * total))                                       \
  F(cuMemAlloc_v2, (DevicePtr * ptr, std::size_t bytes))                                                    \
  F(cuMemFree_v2, (DevicePtr ptr))                                                                          \
  F(cuMemHostAlloc, (void** ptr, std::size_t bytes, unsigned flags))                                        \
  F(cuMemFreeHost, (void* ptr))                                                                             \
  F(cuMemcpy, (DevicePtr to, DevicePtr from, std::size_t bytes))                                            \
  F(cuMemcpyHtoD_v2, (DevicePtr to, const void* from, std::size_t bytes))                                   \
  F(cuMemcpyDtoH_v2, (void* to, DevicePtr from, std::size_t bytes))                                         \
  F(cuMemcpyDtoD_v2, (DevicePtr to, DevicePtr from, std::size_t bytes))                                     \
  F(cuMemcpyAsync, (DevicePtr to, DevicePtr from, std::size_t bytes, Stream stream))                        \
  F(cuMemcpyHtoDAsync_v2, (DevicePtr to, const void* from, std::size_t bytes, Stream stream))               \
  F(cuMemcpyDtoHAsync_v2, (void* to, DevicePtr from, std::size_t bytes, Stream stream))                     \
  F(cuMemcpyDtoDAsync_v2, (DevicePtr to, DevicePtr from, std::size_t bytes, Stream stream))                 \
  F(cuMemsetD8_v2, (DevicePtr to, unsigned char value, std::size_t bytes))                                  \
  F(cuStreamCreate, (Stream * stream, unsigned flags))                                                      \
  F(cuStreamDestroy_v2, (Stream stream))                                                                    \
  F(cuStreamSynchronize, (Stream stream))                                                                   \
  F(cuStreamQuery, (Stream stream))                                                                         \
  F(cuEventCreate, (Event * event, unsigned flags))                                                         \
  F(cuEventDestroy_v2, (Event event))                                                                       \
  F(cuEventRecord, (Event event, Stream stream))                                                            \
  F(cuEventQuery, (Event event))                                                                            \
  F(cuEventSynchronize, (Event event))                                                                      \
  F(cuPointerGetAttribute, (void* value, PointerAttribute attribute, DevicePtr ptr))                        \
  F(cuMemGetAddressRange_v2, (DevicePtr * base, std::size_t * bytes, DevicePtr ptr))                        \
  F(cuMemGetAllocationGranularity, (std::size_t * bytes, const AllocationProp* prop, int option))           \
  F(cuMemCreate,                                                                                            \
    (MemHandle * handle, std::size_t bytes, const AllocationProp* prop, unsigned long long flags))          \
  F(cuMemRelease, (MemHandle handle))                                                                       \
  F(cuMemAddressReserve,                                                                                    \
    (DevicePtr * ptr, std::size_t bytes, std::size_t alignment, DevicePtr wish, unsigned long long flags))  \
  F(cuMemAddressFree, (DevicePtr ptr, std::size_t bytes))                                                   \
  F(cuMemMap,                                                                                               \
    (DevicePtr ptr, std::size_t bytes, std::size_t offset, MemHandle handle, unsigned long long flags))     \
  F(cuMemUnmap, (DevicePtr ptr, std::size_t bytes))                                                         \
  F(cuMemSetAccess, (DevicePtr ptr, std::size_t bytes, const AccessDesc* desc, std::size_t count))          \
  F(cuMemGetAccess, (unsigned long long* flags, const Location* location, DevicePtr ptr))                   \
  F(cuMemExportToShareableHandle, (void* out, MemHandle handle, HandleType type, unsigned long long flags)) \
  F(cuMemImportFromShareableHandle, (MemHandle * handle, void* os_handle, HandleType type))                 \
  F(cuMemGetHandleForAddressRange,                                                                          \
    (void* out, DevicePtr ptr, std::size_t bytes, RangeHandleType type, unsigned long long flags))          \
  F(cuImportExternalMemory, (ExternalMemory * memory, const ExternalHandleDesc* desc))                      \
  F(cuExternalMemoryGetMappedBuffer,                                                                        \
    (DevicePtr * ptr, ExternalMemory memory, const ExternalBufferDesc* desc))                               \
  F(cuDestroyExternalMemory, (ExternalMemory memory))

}  // namespace hb::cuda
