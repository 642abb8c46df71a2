// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Virtual memory management.
#include "gpu/fake_cuda/process.h"

using namespace hb::cuda;  // NOLINT: the C ABI over this namespace
namespace fc = hb::fakecuda;

namespace {

// The machine's device, or -1.
int device_of(const Location& location) {
  if (location.type != kLocationDevice) return -1;
  const auto& seen = fc::visible();
  if (location.id < 0 || location.id >= static_cast<int>(seen.size())) return -1;
  return seen[static_cast<std::size_t>(location.id)];
}

}  // namespace

FAKE_CUDA_API Result cuMemGetAllocationGranularity(std::size_t* out, const AllocationProp* prop, int) {
  if (out == nullptr || prop == nullptr) return kInvalidValue;
  if (device_of(prop->location) < 0) return kInvalidDevice;
  *out = fc::kGranularity;
  return kSuccess;
}

FAKE_CUDA_API Result cuMemCreate(MemHandle* out, std::size_t bytes, const AllocationProp* prop,
                                 unsigned long long flags) {
  FAKE_CUDA_ENTER();
  if (out == nullptr || prop == nullptr || flags != 0 || prop->type != kAllocationPinned)
    return kInvalidValue;
  const int device = device_of(prop->location);
  if (device < 0) return kInvalidDevice;
  if (bytes == 0 || bytes % fc::kGranularity != 0) return kInvalidValue;
  return p.create(device, bytes, prop->handle_types == kHandleFd, *out);
}

FAKE_CUDA_API Result cuMemRelease(MemHandle handle) {
  FAKE_CUDA_ENTER();
  return p.release(handle);
}

FAKE_CUDA_API Result cuMemAddressReserve(DevicePtr* out, std::size_t bytes, std::size_t, DevicePtr wish,
                                         unsigned long long flags) {
  FAKE_CUDA_ENTER();
  if (out == nullptr || flags != 0) return kInvalidValue;
  std::uintptr_t at = 0;
  const Result result = p.reserve(bytes, wish, at);
  if (result == kSuccess) *out = at;
  return result;
}

FAKE_CUDA_API Result cuMemAddressFree(DevicePtr at, std::size_t bytes) {
  FAKE_CUDA_ENTER();
  return p.unreserve(at, bytes);
}

FAKE_CUDA_API Result cuMemMap(DevicePtr at, std::size_t bytes, std::size_t offset, MemHandle handle,
                              unsigned long long flags) {
  FAKE_CUDA_ENTER();
  if (flags != 0) return kInvalidValue;
  return offset != 0 ? Result{kNotSupported} : p.map(at, bytes, handle);
}

FAKE_CUDA_API Result cuMemUnmap(DevicePtr at, std::size_t bytes) {
  FAKE_CUDA_ENTER();
  return p.unmap(at, bytes);
}

FAKE_CUDA_API Result cuMemSetAccess(DevicePtr at, std::size_t bytes, const AccessDesc* desc,
                                    std::size_t count) {
  FAKE_CUDA_ENTER();
  if (desc == nullptr || count == 0) return kInvalidValue;
  for (std::size_t i = 0; i < count; ++i) {
    // The CPU does not reach device memory.
    if (desc[i].location.type != kLocationDevice) return kNotSupported;
    if (device_of(desc[i].location) < 0) return kInvalidDevice;
  }
  for (std::size_t i = 0; i < count; ++i)
    if (const Result result = p.grant(at, bytes, device_of(desc[i].location), desc[i].flags);
        result != kSuccess)
      return result;
  return kSuccess;
}

FAKE_CUDA_API Result cuMemGetAccess(unsigned long long* out, const Location* location, DevicePtr at) {
  FAKE_CUDA_ENTER();
  std::uintptr_t start = 0;
  const fc::Mapping* mapping = p.around(at, start);
  if (out == nullptr || location == nullptr || mapping == nullptr || device_of(*location) < 0)
    return kInvalidValue;
  const auto granted = mapping->granted.find(device_of(*location));
  *out = granted == mapping->granted.end() ? 0u : static_cast<unsigned>(granted->second);
  return kSuccess;
}

FAKE_CUDA_API Result cuMemExportToShareableHandle(void* out, MemHandle handle, HandleType type,
                                                  unsigned long long flags) {
  FAKE_CUDA_ENTER();
  if (out == nullptr || type != kHandleFd || flags != 0) return kInvalidValue;
  int number = -1;
  const Result result = p.share(handle, number);
  if (result == kSuccess) *static_cast<int*>(out) = number;
  return result;
}

FAKE_CUDA_API Result cuMemImportFromShareableHandle(MemHandle* out, void* os_handle, HandleType type) {
  FAKE_CUDA_ENTER();
  if (out == nullptr || type != kHandleFd) return kInvalidValue;
  // The driver takes the low half.
  const int number = static_cast<int>(reinterpret_cast<std::uintptr_t>(os_handle));
  return p.import(hb::BorrowedFd::of_caller(number), *out);
}

FAKE_CUDA_API Result cuMemGetHandleForAddressRange(void*, DevicePtr, std::size_t, RangeHandleType,
                                                   unsigned long long) {
  return kNotSupported;
}

// The real one refuses descriptors of cuMem allocations here.
FAKE_CUDA_API Result cuImportExternalMemory(ExternalMemory*, const ExternalHandleDesc*) { return kUnknown; }
FAKE_CUDA_API Result cuExternalMemoryGetMappedBuffer(DevicePtr*, ExternalMemory, const ExternalBufferDesc*) {
  return kInvalidValue;
}
FAKE_CUDA_API Result cuDestroyExternalMemory(ExternalMemory) { return kInvalidValue; }
