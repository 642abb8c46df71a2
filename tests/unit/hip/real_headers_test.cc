// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// The own declarations against real headers (>= 6.2), where the build found some: compiling is the test.
#include <hip/hip_runtime_api.h>
#include <hip/hip_version.h>

#include <type_traits>

#include <gtest/gtest.h>

#include "providers/hip/abi.h"

namespace hb::test {
namespace {

namespace hc = hb::client::hip;

#define HB_SAME_SIZE(ours, theirs) static_assert(sizeof(hc::ours) == sizeof(theirs))
#define HB_SAME_PLACE(ours, our_field, theirs, their_field) \
  static_assert(offsetof(hc::ours, our_field) == offsetof(theirs, their_field))
#define HB_SAME_NUMBER(ours, theirs) static_assert(static_cast<int>(hc::ours) == static_cast<int>(theirs))

HB_SAME_SIZE(MemLocation, hipMemLocation);
HB_SAME_PLACE(MemLocation, type, hipMemLocation, type);
HB_SAME_PLACE(MemLocation, id, hipMemLocation, id);
HB_SAME_SIZE(MemAccessDesc, hipMemAccessDesc);
HB_SAME_PLACE(MemAccessDesc, flags, hipMemAccessDesc, flags);
HB_SAME_SIZE(MemAllocationProp, hipMemAllocationProp);
HB_SAME_PLACE(MemAllocationProp, type, hipMemAllocationProp, type);
HB_SAME_PLACE(MemAllocationProp, requested_handle_type, hipMemAllocationProp, requestedHandleType);
HB_SAME_PLACE(MemAllocationProp, location, hipMemAllocationProp, location);
HB_SAME_PLACE(MemAllocationProp, win32_handle_metadata, hipMemAllocationProp, win32HandleMetaData);
HB_SAME_PLACE(MemAllocationProp, alloc_flags, hipMemAllocationProp, allocFlags);
HB_SAME_SIZE(PointerAttributes, hipPointerAttribute_t);
HB_SAME_PLACE(PointerAttributes, device, hipPointerAttribute_t, device);
HB_SAME_PLACE(PointerAttributes, device_pointer, hipPointerAttribute_t, devicePointer);
HB_SAME_PLACE(PointerAttributes, host_pointer, hipPointerAttribute_t, hostPointer);
HB_SAME_PLACE(PointerAttributes, is_managed, hipPointerAttribute_t, isManaged);
HB_SAME_SIZE(ExternalMemoryHandleDesc, hipExternalMemoryHandleDesc);
HB_SAME_PLACE(ExternalMemoryHandleDesc, handle, hipExternalMemoryHandleDesc, handle);
HB_SAME_PLACE(ExternalMemoryHandleDesc, size, hipExternalMemoryHandleDesc, size);
HB_SAME_PLACE(ExternalMemoryHandleDesc, flags, hipExternalMemoryHandleDesc, flags);
HB_SAME_PLACE(ExternalMemoryBufferDesc, size, hipExternalMemoryBufferDesc, size);
HB_SAME_SIZE(Uuid, hipUUID);

HB_SAME_NUMBER(kInvalidValue, hipErrorInvalidValue);
HB_SAME_NUMBER(kOutOfMemory, hipErrorOutOfMemory);
HB_SAME_NUMBER(kNotInitialized, hipErrorNotInitialized);
HB_SAME_NUMBER(kNoDevice, hipErrorNoDevice);
HB_SAME_NUMBER(kInvalidDevice, hipErrorInvalidDevice);
HB_SAME_NUMBER(kNotFound, hipErrorNotFound);
HB_SAME_NUMBER(kNotReady, hipErrorNotReady);
HB_SAME_NUMBER(kLaunchFailure, hipErrorLaunchFailure);
HB_SAME_NUMBER(kNotSupported, hipErrorNotSupported);
HB_SAME_NUMBER(kStreamCaptureUnsupported, hipErrorStreamCaptureUnsupported);
HB_SAME_NUMBER(kLocationDevice, hipMemLocationTypeDevice);
HB_SAME_NUMBER(kProtReadWrite, hipMemAccessFlagsProtReadWrite);
HB_SAME_NUMBER(kProtRead, hipMemAccessFlagsProtRead);
HB_SAME_NUMBER(kAllocationPinned, hipMemAllocationTypePinned);
HB_SAME_NUMBER(kHandleFd, hipMemHandleTypePosixFileDescriptor);
HB_SAME_NUMBER(kGranularityRecommended, hipMemAllocationGranularityRecommended);
HB_SAME_NUMBER(kCopyHostToDevice, hipMemcpyHostToDevice);
HB_SAME_NUMBER(kCopyDeviceToHost, hipMemcpyDeviceToHost);
HB_SAME_NUMBER(kCaptureRelaxed, hipStreamCaptureModeRelaxed);
HB_SAME_NUMBER(kExternalOpaqueFd, hipExternalMemoryHandleTypeOpaqueFd);
HB_SAME_NUMBER(kAttributeVmm, hipDeviceAttributeVirtualMemoryManagementSupported);
HB_SAME_NUMBER(kAttributeLargeBar, hipDeviceAttributeIsLargeBar);
HB_SAME_NUMBER(kMemoryDevice, hipMemoryTypeDevice);
HB_SAME_NUMBER(kMemoryHost, hipMemoryTypeHost);

// As many parameters of the same size: what the calling convention sees.
template <class Ours, class Theirs>
struct SameCall : std::false_type {};
template <class R, class... Ours, class S, class... Theirs>
struct SameCall<R (*)(Ours...), S (*)(Theirs...)>
    : std::bool_constant<sizeof...(Ours) == sizeof...(Theirs) && sizeof(R) == sizeof(S)> {
  static_assert(((sizeof(Ours) == sizeof(Theirs)) && ...));
};
#define HB_SAME_CALL(function, parameters) \
  static_assert(SameCall<decltype(hc::HipTable::function), decltype(&::function)>::value);
HB_HIP_REQUIRED(HB_SAME_CALL)

TEST(HipRealHeaders, AgreeWithTheOwnDeclarations) { EXPECT_GE(HIP_VERSION, 60'200'000); }

}  // namespace
}  // namespace hb::test
