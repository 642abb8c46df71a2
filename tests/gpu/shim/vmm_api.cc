// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Virtual memory management: create, reserve, map, grant.
#include "gpu/shim/driver.h"

using namespace hb::shim;     // NOLINT: the C ABI over this namespace
using namespace hb::fakehip;  // NOLINT: HIP's numbers
namespace cuda = hb::cuda;

namespace {

constexpr int kHostIsALocation = 70'200'000;
constexpr int kRetainTakesReference = 71'200'000;

bool known_location(const Location& location) {
  if (location.type == kLocationDevice) return location.id >= 0 && location.id < device_count();
  return location.type == kLocationHost && version() >= kHostIsALocation;
}

cuda::AllocationProp translated(const AllocationProp& prop) {
  cuda::AllocationProp out{};
  out.type = prop.type;
  out.handle_types = prop.requested_handle_type;
  out.location = {prop.location.type, prop.location.id};
  return out;
}

void* pointer(cuda::DevicePtr at) { return reinterpret_cast<void*>(static_cast<std::uintptr_t>(at)); }

}  // namespace

SHIM_API HipError hipMemGetAllocationGranularity(std::size_t* out, const AllocationProp* prop, int option) {
  if (out == nullptr || prop == nullptr || prop->type != kTypePinned || option < 0 || option > 1)
    SHIM_DONE(kInvalidValue);
  SHIM_ENTER();
  if (!known_location(prop->location)) SHIM_DONE(kInvalidValue);
  const cuda::AllocationProp wanted = translated(*prop);
  SHIM_DONE(convert(cu().cuMemGetAllocationGranularity(out, &wanted, option)));
}

SHIM_API HipError hipMemCreate(Allocation** out, std::size_t bytes, const AllocationProp* prop,
                               unsigned long long flags) {
  if (out == nullptr || bytes == 0 || prop == nullptr || flags != 0 || prop->type != kTypePinned)
    SHIM_DONE(kInvalidValue);
  SHIM_ENTER();
  if (!known_location(prop->location)) SHIM_DONE(kInvalidValue);
  if (prop->requested_handle_type != kHandleNone && prop->requested_handle_type != kHandleFd)
    SHIM_DONE(kNotSupported);
  const cuda::AllocationProp wanted = translated(*prop);
  cuda::MemHandle handle = 0;
  if (const auto result = cu().cuMemCreate(&handle, bytes, &wanted, 0); result != cuda::kSuccess)
    SHIM_DONE(convert(result));
  *out = new Allocation{handle, *prop, false, 1};
  return kSuccess;
}

SHIM_API HipError hipMemRelease(Allocation* handle) {
  if (handle == nullptr) SHIM_DONE(kInvalidValue);
  SHIM_ENTER();
  const std::lock_guard guard(mappings().mutex);
  drop(handle);
  return kSuccess;
}

SHIM_API HipError hipMemAddressReserve(void** out, std::size_t bytes, std::size_t, void* wish,
                                       unsigned long long flags) {
  if (out == nullptr || bytes == 0 || flags != 0) SHIM_DONE(kInvalidValue);
  SHIM_ENTER();
  cuda::DevicePtr at = 0;
  // AMD's runtime does not forward the alignment on Linux; neither does this.
  const HipError code = convert(cu().cuMemAddressReserve(&at, bytes, 0, address(wish), 0));
  if (code == kSuccess) *out = pointer(at);
  SHIM_DONE(code);
}

SHIM_API HipError hipMemAddressFree(void* ptr, std::size_t bytes) {
  if (ptr == nullptr || bytes == 0) SHIM_DONE(kInvalidValue);
  SHIM_ENTER();
  SHIM_DONE(convert(cu().cuMemAddressFree(address(ptr), bytes)));
}

SHIM_API HipError hipMemMap(void* ptr, std::size_t bytes, std::size_t offset, Allocation* handle,
                            unsigned long long flags) {
  if (ptr == nullptr || bytes == 0 || offset != 0 || handle == nullptr || flags != 0)
    SHIM_DONE(kInvalidValue);
  SHIM_ENTER();
  Mappings& all = mappings();
  const std::lock_guard guard(all.mutex);
  if (const auto result = cu().cuMemMap(address(ptr), bytes, 0, handle->handle, 0); result != cuda::kSuccess)
    SHIM_DONE(convert(result));
  ++handle->references;
  all.by_address[reinterpret_cast<std::uintptr_t>(ptr)] = {bytes, handle};
  return kSuccess;
}

SHIM_API HipError hipMemUnmap(void* ptr, std::size_t bytes) {
  if (ptr == nullptr || bytes == 0) SHIM_DONE(kInvalidValue);
  SHIM_ENTER();
  Mappings& all = mappings();
  const std::lock_guard guard(all.mutex);
  if (const auto result = cu().cuMemUnmap(address(ptr), bytes); result != cuda::kSuccess)
    SHIM_DONE(convert(result));
  const auto start = reinterpret_cast<std::uintptr_t>(ptr);
  auto one = all.by_address.lower_bound(start);
  while (one != all.by_address.end() && one->first - start < bytes) {
    drop(one->second.allocation);
    one = all.by_address.erase(one);
  }
  return kSuccess;
}

// One call a descriptor, in array order, as AMD's runtime does it: no roll-back.
SHIM_API HipError hipMemSetAccess(void* ptr, std::size_t bytes, const AccessDesc* desc, std::size_t count) {
  if (ptr == nullptr || bytes == 0 || desc == nullptr || count == 0) SHIM_DONE(kInvalidValue);
  SHIM_ENTER();
  for (std::size_t i = 0; i < count; ++i) {
    if (!known_location(desc[i].location)) SHIM_DONE(kInvalidValue);
    const cuda::AccessDesc one{{desc[i].location.type, desc[i].location.id}, desc[i].flags};
    if (const auto result = cu().cuMemSetAccess(address(ptr), bytes, &one, 1); result != cuda::kSuccess)
      SHIM_DONE(convert(result));
  }
  return kSuccess;
}

SHIM_API HipError hipMemGetAccess(unsigned long long* flags, const Location* location, void* ptr) {
  if (flags == nullptr || location == nullptr || ptr == nullptr || location->type != kLocationDevice)
    SHIM_DONE(kInvalidValue);
  SHIM_ENTER();
  const cuda::Location where{location->type, location->id};
  SHIM_DONE(convert(cu().cuMemGetAccess(flags, &where, address(ptr))));
}

SHIM_API HipError hipMemRetainAllocationHandle(Allocation** out, void* ptr) {
  if (out == nullptr || ptr == nullptr) SHIM_DONE(kInvalidValue);
  SHIM_ENTER();
  Mappings& all = mappings();
  const std::lock_guard guard(all.mutex);
  const auto found = all.by_address.find(reinterpret_cast<std::uintptr_t>(ptr));
  if (found == all.by_address.end()) SHIM_DONE(kInvalidValue);
  if (version() >= kRetainTakesReference) ++found->second.allocation->references;
  *out = found->second.allocation;
  return kSuccess;
}

SHIM_API HipError hipMemGetAllocationPropertiesFromHandle(AllocationProp* out, Allocation* handle) {
  if (out == nullptr || handle == nullptr) SHIM_DONE(kInvalidValue);
  *out = handle->prop;
  return kSuccess;
}
