// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// What leaves the process and comes in: descriptors of allocations, of address ranges, of external memory.
#include <fcntl.h>
#include <unistd.h>

#include "gpu/shim/driver.h"

using namespace hb::shim;     // NOLINT: the C ABI over this namespace
using namespace hb::fakehip;  // NOLINT: HIP's numbers
namespace cuda = hb::cuda;

namespace {
constexpr int kDescriptorByValue = 70'100'000;
}

SHIM_API HipError hipMemExportToShareableHandle(void* out, Allocation* handle, int type,
                                                unsigned long long flags) {
  if (out == nullptr || handle == nullptr || flags != 0 || type != kHandleFd ||
      handle->prop.requested_handle_type != type)
    SHIM_DONE(kInvalidValue);
  SHIM_ENTER();
  int number = -1;
  const auto result = cu().cuMemExportToShareableHandle(&number, handle->handle, cuda::kHandleFd, 0);
  if (result == cuda::kSuccess) *static_cast<int*>(out) = number;
  // AMD's runtime has no word of its own for a full descriptor table.
  SHIM_DONE(result == cuda::kOperatingSystem ? HipError{kOutOfMemory} : convert(result));
}

SHIM_API HipError hipMemImportFromShareableHandle(Allocation** out, void* os_handle, int type) {
  // By value descriptor 0 cannot be imported, as on AMD.
  if (out == nullptr || os_handle == nullptr) SHIM_DONE(kInvalidValue);
  if (type != kHandleFd) SHIM_DONE(kNotSupported);
  SHIM_ENTER();
  const int number = version() >= kDescriptorByValue
                         ? static_cast<int>(reinterpret_cast<std::uintptr_t>(os_handle))
                         : *static_cast<const int*>(os_handle);
  cuda::MemHandle handle = 0;
  const auto result = cu().cuMemImportFromShareableHandle(
      &handle, reinterpret_cast<void*>(static_cast<std::uintptr_t>(static_cast<unsigned>(number))),
      cuda::kHandleFd);
  if (result != cuda::kSuccess)
    SHIM_DONE(result == cuda::kOutOfMemory ? HipError{kOutOfMemory} : HipError{kInvalidValue});
  AllocationProp prop{};
  prop.type = kTypePinned;
  prop.requested_handle_type = kHandleFd;
  prop.location = {kLocationDevice, current_device()};  // a guess, as AMD's is
  *out = new Allocation{handle, prop, true, 1};
  return kSuccess;
}

SHIM_API HipError hipMemGetHandleForAddressRange(void* out, void* ptr, std::size_t bytes, int type,
                                                 unsigned long long flags) {
  if (out == nullptr || ptr == nullptr || bytes == 0 || type != cuda::kRangeDmaBuf || flags != 0)
    SHIM_DONE(kInvalidValue);
  SHIM_ENTER();
  SHIM_DONE(convert(cu().cuMemGetHandleForAddressRange(out, address(ptr), bytes, cuda::kRangeDmaBuf, 0)));
}

// CUDA keeps the descriptor when it succeeds; HIP never does.
SHIM_API HipError hipImportExternalMemory(void** out, const ExternalMemoryHandleDesc* desc) {
  if (out == nullptr || desc == nullptr || desc->flags != 0) SHIM_DONE(kInvalidValue);
  if (desc->type != cuda::kExternalOpaqueFd) SHIM_DONE(kNotSupported);
  SHIM_ENTER();
  const int number = ::fcntl(desc->handle.fd, F_DUPFD_CLOEXEC, 3);
  if (number < 0) SHIM_DONE(kInvalidValue);
  cuda::ExternalHandleDesc wanted{};
  wanted.type = cuda::kExternalOpaqueFd;
  wanted.handle.fd = number;
  wanted.size = desc->size;
  cuda::ExternalMemory memory = nullptr;
  const auto result = cu().cuImportExternalMemory(&memory, &wanted);
  if (result == cuda::kSuccess)
    *out = memory;
  else
    ::close(number);
  SHIM_DONE(convert(result));
}

SHIM_API HipError hipExternalMemoryGetMappedBuffer(void** out, void* memory,
                                                   const ExternalMemoryBufferDesc* desc) {
  if (out == nullptr || memory == nullptr || desc == nullptr) SHIM_DONE(kInvalidValue);
  SHIM_ENTER();
  cuda::ExternalBufferDesc wanted{};
  wanted.offset = desc->offset;
  wanted.size = desc->size;
  cuda::DevicePtr at = 0;
  const HipError code =
      convert(cu().cuExternalMemoryGetMappedBuffer(&at, static_cast<cuda::ExternalMemory>(memory), &wanted));
  if (code == kSuccess) *out = reinterpret_cast<void*>(static_cast<std::uintptr_t>(at));
  SHIM_DONE(code);
}

SHIM_API HipError hipDestroyExternalMemory(void* memory) {
  if (memory == nullptr) SHIM_DONE(kInvalidValue);
  SHIM_ENTER();
  SHIM_DONE(convert(cu().cuDestroyExternalMemory(static_cast<cuda::ExternalMemory>(memory))));
}
