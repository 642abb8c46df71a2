// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Plain memory, copies, streams, events, questions about pointers.
#include <cstring>

#include "gpu/shim/driver.h"

using namespace hb::shim;     // NOLINT: the C ABI over this namespace
using namespace hb::fakehip;  // NOLINT: HIP's numbers
namespace cuda = hb::cuda;

namespace {

void* pointer(cuda::DevicePtr at) { return reinterpret_cast<void*>(static_cast<std::uintptr_t>(at)); }
cuda::Stream stream_of(void* stream) { return static_cast<cuda::Stream>(stream); }
cuda::Event event_of(void* event) { return static_cast<cuda::Event>(event); }

template <class T>
bool ask(T* out, cuda::PointerAttribute attribute, const void* ptr) {
  return cu().cuPointerGetAttribute(out, attribute, address(ptr)) == cuda::kSuccess;
}

// The mapping, or the allocation of hipMalloc, around an address.
bool range_of(const void* ptr, void** base, std::size_t* bytes) {
  {
    Mappings& all = mappings();
    const std::lock_guard guard(all.mutex);
    if (const auto found = all.around(ptr); found != all.by_address.end()) {
      *base = pointer(found->first);
      *bytes = found->second.bytes;
      return true;
    }
  }
  cuda::DevicePtr start = 0;
  if (cu().cuMemGetAddressRange_v2(&start, bytes, address(ptr)) != cuda::kSuccess) return false;
  *base = pointer(start);
  return true;
}

}  // namespace

SHIM_API HipError hipMemGetInfo(std::size_t* free_bytes, std::size_t* total) {
  SHIM_ENTER();
  SHIM_DONE(convert(cu().cuMemGetInfo_v2(free_bytes, total)));
}

SHIM_API HipError hipMalloc(void** out, std::size_t bytes) {
  if (out == nullptr) SHIM_DONE(kInvalidValue);
  SHIM_ENTER();
  cuda::DevicePtr at = 0;
  const HipError code = convert(cu().cuMemAlloc_v2(&at, bytes));
  if (code == kSuccess) *out = pointer(at);
  SHIM_DONE(code);
}
SHIM_API HipError hipFree(void* ptr) {
  if (ptr == nullptr) return kSuccess;
  SHIM_ENTER();
  SHIM_DONE(convert(cu().cuMemFree_v2(address(ptr))));
}
SHIM_API HipError hipHostMalloc(void** out, std::size_t bytes, unsigned) {
  if (out == nullptr) SHIM_DONE(kInvalidValue);
  SHIM_ENTER();
  SHIM_DONE(convert(cu().cuMemHostAlloc(out, bytes, cuda::kHostAllocPortable)));
}
SHIM_API HipError hipHostFree(void* ptr) {
  if (ptr == nullptr) return kSuccess;
  SHIM_ENTER();
  SHIM_DONE(convert(cu().cuMemFreeHost(ptr)));
}

SHIM_API HipError hipMemcpy(void* to, const void* from, std::size_t bytes, int kind) {
  SHIM_ENTER();
  switch (kind) {
    case kCopyHostToDevice:
      SHIM_DONE(convert(cu().cuMemcpyHtoD_v2(address(to), from, bytes)));
    case kCopyDeviceToHost:
      SHIM_DONE(convert(cu().cuMemcpyDtoH_v2(to, address(from), bytes)));
    case kCopyDeviceToDevice:
      if (const HipError code = convert(cu().cuMemcpyDtoD_v2(address(to), address(from), bytes)); code != 0)
        SHIM_DONE(code);
      SHIM_DONE(convert(cu().cuCtxSynchronize()));
    case kCopyDefault:
      if (const HipError code = convert(cu().cuMemcpy(address(to), address(from), bytes)); code != 0)
        SHIM_DONE(code);
      SHIM_DONE(convert(cu().cuCtxSynchronize()));
    default:
      SHIM_DONE(kInvalidMemcpyDirection);
  }
}

SHIM_API HipError hipMemcpyAsync(void* to, const void* from, std::size_t bytes, int kind, void* stream) {
  SHIM_ENTER();
  switch (kind) {
    case kCopyHostToDevice:
      SHIM_DONE(convert(cu().cuMemcpyHtoDAsync_v2(address(to), from, bytes, stream_of(stream))));
    case kCopyDeviceToHost:
      SHIM_DONE(convert(cu().cuMemcpyDtoHAsync_v2(to, address(from), bytes, stream_of(stream))));
    case kCopyDeviceToDevice:
      SHIM_DONE(convert(cu().cuMemcpyDtoDAsync_v2(address(to), address(from), bytes, stream_of(stream))));
    case kCopyDefault:
      SHIM_DONE(convert(cu().cuMemcpyAsync(address(to), address(from), bytes, stream_of(stream))));
    default:
      SHIM_DONE(kInvalidMemcpyDirection);
  }
}

SHIM_API HipError hipMemset(void* to, int value, std::size_t bytes) {
  SHIM_ENTER();
  SHIM_DONE(convert(cu().cuMemsetD8_v2(address(to), static_cast<unsigned char>(value), bytes)));
}

SHIM_API HipError hipStreamCreateWithFlags(void** out, unsigned flags) {
  if (out == nullptr || flags > cuda::kStreamNonBlocking) SHIM_DONE(kInvalidValue);
  SHIM_ENTER();
  cuda::Stream made = nullptr;
  const HipError code = convert(cu().cuStreamCreate(&made, flags));
  if (code == kSuccess) *out = made;
  SHIM_DONE(code);
}
SHIM_API HipError hipStreamCreate(void** out) { return hipStreamCreateWithFlags(out, 0); }
SHIM_API HipError hipStreamDestroy(void* stream) {
  SHIM_ENTER();
  SHIM_DONE(convert(cu().cuStreamDestroy_v2(stream_of(stream))));
}
SHIM_API HipError hipStreamSynchronize(void* stream) {
  SHIM_ENTER();
  SHIM_DONE(convert(cu().cuStreamSynchronize(stream_of(stream))));
}
SHIM_API HipError hipStreamQuery(void* stream) {
  SHIM_ENTER();
  SHIM_DONE(convert(cu().cuStreamQuery(stream_of(stream))));
}

SHIM_API HipError hipEventCreateWithFlags(void** out, unsigned flags) {
  if (out == nullptr) SHIM_DONE(kInvalidValue);
  SHIM_ENTER();
  cuda::Event made = nullptr;
  // Blocking wait 1 and no timing 2 are numbered alike; what else AMD has, CUDA has not.
  const HipError code = convert(cu().cuEventCreate(&made, flags & 3u));
  if (code == kSuccess) *out = made;
  SHIM_DONE(code);
}
SHIM_API HipError hipEventCreate(void** out) { return hipEventCreateWithFlags(out, 0); }
SHIM_API HipError hipEventDestroy(void* event) {
  SHIM_ENTER();
  SHIM_DONE(convert(cu().cuEventDestroy_v2(event_of(event))));
}
SHIM_API HipError hipEventRecord(void* event, void* stream) {
  SHIM_ENTER();
  SHIM_DONE(convert(cu().cuEventRecord(event_of(event), stream_of(stream))));
}
SHIM_API HipError hipEventQuery(void* event) {
  SHIM_ENTER();
  SHIM_DONE(convert(cu().cuEventQuery(event_of(event))));
}
SHIM_API HipError hipEventSynchronize(void* event) {
  SHIM_ENTER();
  SHIM_DONE(convert(cu().cuEventSynchronize(event_of(event))));
}

SHIM_API HipError hipMemGetAddressRange(void** base, std::size_t* bytes, void* ptr) {
  SHIM_ENTER();
  void* start = nullptr;
  std::size_t size = 0;
  if (!range_of(ptr, &start, &size)) SHIM_DONE(kNotFound);
  if (base != nullptr) *base = start;
  if (bytes != nullptr) *bytes = size;
  return kSuccess;
}

SHIM_API HipError hipPointerGetAttributes(PointerAttributes* out, const void* ptr) {
  if (out == nullptr) SHIM_DONE(kInvalidValue);
  SHIM_ENTER();
  *out = {};
  unsigned type = 0;
  if (!ask(&type, cuda::kPointerMemoryType, ptr)) {
    out->device = -2;  // memory that nobody registered: success and these values, since 6.0
    return kSuccess;
  }
  // AMD numbers them alike since 6.0.
  out->type = type == cuda::kMemoryDevice ? kMemoryDevice : kMemoryHost;
  static_cast<void>(ask(&out->device, cuda::kPointerOrdinal, ptr));
  out->device_pointer = const_cast<void*>(ptr);
  if (out->type == kMemoryHost) out->host_pointer = out->device_pointer;
  return kSuccess;
}

SHIM_API HipError hipPointerGetAttribute(void* out, int attribute, void* ptr) {
  if (out == nullptr) SHIM_DONE(kInvalidValue);
  SHIM_ENTER();
  void* base = nullptr;
  std::size_t bytes = 0;
  switch (attribute) {
    case cuda::kPointerRangeStart:
    case cuda::kPointerRangeSize:
      if (!range_of(ptr, &base, &bytes)) SHIM_DONE(kInvalidValue);
      if (attribute == cuda::kPointerRangeStart)
        std::memcpy(out, &base, sizeof base);
      else
        std::memcpy(out, &bytes, sizeof bytes);
      return kSuccess;
    case cuda::kPointerMemoryType:
    case cuda::kPointerDevicePointer:
    case cuda::kPointerHostPointer:
    case cuda::kPointerBufferId:
    case cuda::kPointerIsManaged:
    case cuda::kPointerOrdinal:
      SHIM_DONE(convert(
          cu().cuPointerGetAttribute(out, static_cast<cuda::PointerAttribute>(attribute), address(ptr))));
    default:
      SHIM_DONE(kNotSupported);
  }
}
