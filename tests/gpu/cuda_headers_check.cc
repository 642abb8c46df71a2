// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// The own declarations against cuda.h, where the build found one: compiling is the test.
#include <cuda.h>

#include <type_traits>

#include "gpu/shim/cuda_api.h"

namespace hb::cuda {
namespace {

// Passed alike: pointers are pointers, all else by size and whether it is a number.
template <class Ours, class Theirs>
constexpr bool kAlike =
    sizeof(Ours) == sizeof(Theirs) && std::is_pointer_v<Ours> == std::is_pointer_v<Theirs>;
template <class Ours, class Theirs>
struct SameCall : std::false_type {};
template <class R1, class... Ours, class R2, class... Theirs>
requires(sizeof...(Ours) == sizeof...(Theirs)) struct SameCall<R1 (*)(Ours...), R2 (*)(Theirs...)>
    : std::bool_constant<kAlike<R1, R2> && (kAlike<Ours, Theirs> && ...)> {
};

struct Ours {
#define HB_MEMBER(name, parameters) Result(*name) parameters;
  HB_CUDA_FUNCTIONS(HB_MEMBER)
#undef HB_MEMBER
};
#define HB_SAME_CALL(name, parameters) \
  static_assert(SameCall<decltype(Ours::name), decltype(&::name)>::value);
HB_CUDA_FUNCTIONS(HB_SAME_CALL)
#undef HB_SAME_CALL

#define HB_SAME_PLACE(ours, our_field, theirs, their_field) \
  static_assert(offsetof(ours, our_field) == offsetof(theirs, their_field))
static_assert(sizeof(Uuid) == sizeof(CUuuid));
static_assert(sizeof(Location) == sizeof(CUmemLocation));
HB_SAME_PLACE(Location, id, CUmemLocation, id);
static_assert(sizeof(AccessDesc) == sizeof(CUmemAccessDesc));
HB_SAME_PLACE(AccessDesc, flags, CUmemAccessDesc, flags);
static_assert(sizeof(AllocationProp) == sizeof(CUmemAllocationProp));
HB_SAME_PLACE(AllocationProp, handle_types, CUmemAllocationProp, requestedHandleTypes);
HB_SAME_PLACE(AllocationProp, location, CUmemAllocationProp, location);
HB_SAME_PLACE(AllocationProp, alloc_flags, CUmemAllocationProp, allocFlags);
static_assert(sizeof(ExternalHandleDesc) == sizeof(CUDA_EXTERNAL_MEMORY_HANDLE_DESC));
HB_SAME_PLACE(ExternalHandleDesc, handle, CUDA_EXTERNAL_MEMORY_HANDLE_DESC, handle);
HB_SAME_PLACE(ExternalHandleDesc, size, CUDA_EXTERNAL_MEMORY_HANDLE_DESC, size);
static_assert(sizeof(ExternalBufferDesc) == sizeof(CUDA_EXTERNAL_MEMORY_BUFFER_DESC));
HB_SAME_PLACE(ExternalBufferDesc, size, CUDA_EXTERNAL_MEMORY_BUFFER_DESC, size);

#define HB_SAME_NUMBER(ours, theirs) static_assert(static_cast<int>(ours) == static_cast<int>(theirs))
HB_SAME_NUMBER(kInvalidValue, CUDA_ERROR_INVALID_VALUE);
HB_SAME_NUMBER(kOutOfMemory, CUDA_ERROR_OUT_OF_MEMORY);
HB_SAME_NUMBER(kNotInitialized, CUDA_ERROR_NOT_INITIALIZED);
HB_SAME_NUMBER(kNoDevice, CUDA_ERROR_NO_DEVICE);
HB_SAME_NUMBER(kInvalidDevice, CUDA_ERROR_INVALID_DEVICE);
HB_SAME_NUMBER(kInvalidContext, CUDA_ERROR_INVALID_CONTEXT);
HB_SAME_NUMBER(kOperatingSystem, CUDA_ERROR_OPERATING_SYSTEM);
HB_SAME_NUMBER(kInvalidHandle, CUDA_ERROR_INVALID_HANDLE);
HB_SAME_NUMBER(kNotFound, CUDA_ERROR_NOT_FOUND);
HB_SAME_NUMBER(kNotReady, CUDA_ERROR_NOT_READY);
HB_SAME_NUMBER(kNotSupported, CUDA_ERROR_NOT_SUPPORTED);
HB_SAME_NUMBER(kUnknown, CUDA_ERROR_UNKNOWN);
HB_SAME_NUMBER(kAttributePciBus, CU_DEVICE_ATTRIBUTE_PCI_BUS_ID);
HB_SAME_NUMBER(kAttributePciDevice, CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID);
HB_SAME_NUMBER(kAttributePciDomain, CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID);
HB_SAME_NUMBER(kAttributeVmm, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED);
HB_SAME_NUMBER(kAttributeDmaBuf, CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED);
HB_SAME_NUMBER(kPointerMemoryType, CU_POINTER_ATTRIBUTE_MEMORY_TYPE);
HB_SAME_NUMBER(kPointerDevicePointer, CU_POINTER_ATTRIBUTE_DEVICE_POINTER);
HB_SAME_NUMBER(kPointerHostPointer, CU_POINTER_ATTRIBUTE_HOST_POINTER);
HB_SAME_NUMBER(kPointerBufferId, CU_POINTER_ATTRIBUTE_BUFFER_ID);
HB_SAME_NUMBER(kPointerIsManaged, CU_POINTER_ATTRIBUTE_IS_MANAGED);
HB_SAME_NUMBER(kPointerOrdinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL);
HB_SAME_NUMBER(kPointerRangeStart, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR);
HB_SAME_NUMBER(kPointerRangeSize, CU_POINTER_ATTRIBUTE_RANGE_SIZE);
HB_SAME_NUMBER(kMemoryHost, CU_MEMORYTYPE_HOST);
HB_SAME_NUMBER(kMemoryDevice, CU_MEMORYTYPE_DEVICE);
HB_SAME_NUMBER(kLocationDevice, CU_MEM_LOCATION_TYPE_DEVICE);
HB_SAME_NUMBER(kLocationHost, CU_MEM_LOCATION_TYPE_HOST);
HB_SAME_NUMBER(kProtRead, CU_MEM_ACCESS_FLAGS_PROT_READ);
HB_SAME_NUMBER(kProtReadWrite, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
HB_SAME_NUMBER(kAllocationPinned, CU_MEM_ALLOCATION_TYPE_PINNED);
HB_SAME_NUMBER(kHandleFd, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
HB_SAME_NUMBER(kExternalOpaqueFd, CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD);
HB_SAME_NUMBER(kRangeDmaBuf, CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD);
HB_SAME_NUMBER(kStreamNonBlocking, CU_STREAM_NON_BLOCKING);
HB_SAME_NUMBER(kHostAllocPortable, CU_MEMHOSTALLOC_PORTABLE);

}  // namespace
}  // namespace hb::cuda
