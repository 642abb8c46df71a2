// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// What a pointer is: the questions of frameworks, and where they crash.
#include <cstring>

#include "accounting.h"
#include "call.h"

namespace hb::fakehip {
namespace {

bool is_host(const Region& region) {
  return region.kind == RegionKind::kHost || region.kind == RegionKind::kRegistered ||
         region.line == kHostLine;
}

void crash_on_import(Call& call, const Region* region) {
  if (region != nullptr && region->handle != nullptr && region->handle->imported &&
      call.state().on(Quirk::kImportQueryCrashes))
    call.crash("the pointer lies in an imported mapping");
}

template <class T>
HipError answer(void* out, T value) {
  std::memcpy(out, &value, sizeof value);
  return kSuccess;
}

enum : int {
  kAttrMemoryType = 2,
  kAttrDevicePointer = 3,
  kAttrHostPointer = 4,
  kAttrBufferId = 7,
  kAttrIsManaged = 8,
  kAttrDeviceOrdinal = 9,
  kAttrIpcCapable = 10,
  kAttrRangeStart = 11,
  kAttrRangeSize = 12,
  kAttrMapped = 13,
  kAttrAccessFlags = 16,
  kAttrMempool = 17,
};

HipError one_attribute(const State& s, void* out, int attribute, const Region& region, void* ptr) {
  switch (attribute) {
    case kAttrMemoryType:
      return answer(out, is_host(region) ? kMemoryHost : kMemoryDevice);
    case kAttrDevicePointer:
      return answer(out, ptr);
    case kAttrHostPointer:
      if (!is_host(region)) return kInvalidValue;
      return answer(out, ptr);
    case kAttrBufferId:
      return answer(out, region.object != nullptr ? static_cast<unsigned>(region.object->inode) : 0u);
    case kAttrIsManaged:
      return answer(out, false);
    case kAttrDeviceOrdinal:
      return answer(out, region.ordinal);
    case kAttrIpcCapable:
      if (!s.on(Quirk::kIpcCapableAttribute)) return kInvalidValue;
      return answer(out, region.kind == RegionKind::kMalloc);
    case kAttrRangeStart:
      return answer(out, pointer(region.base));
    case kAttrRangeSize:
      return answer(out, region.size);
    case kAttrMapped:
      return answer(out, true);
    case kAttrAccessFlags:
      return answer(out, kProtReadWrite);
    case kAttrMempool:
      return answer(out, region.kind == RegionKind::kPool ? static_cast<const void*>(&region) : nullptr);
    default:
      return kNotSupported;
  }
}

}  // namespace
}  // namespace hb::fakehip

using namespace hb::fakehip;  // NOLINT: the C ABI over this namespace

FAKE_API HipError hipPointerGetAttributes(PointerAttributes* out, const void* ptr) {
  FAKE_ENTER("hipPointerGetAttributes", kPlain, ptr);
  if (out == nullptr || ptr == nullptr) return call.done(kInvalidValue);
  const Region* region = s.region_at(address(ptr));
  crash_on_import(call, region);
  *out = {};
  if (region == nullptr) return call.done(s.on(Quirk::kUnregisteredIsSuccess) ? kSuccess : kInvalidValue);
  out->type = is_host(*region) ? kMemoryHost : kMemoryDevice;
  out->device = region->ordinal;
  out->device_pointer = const_cast<void*>(ptr);
  if (is_host(*region)) out->host_pointer = out->device_pointer;
  return call.done(kSuccess);
}

FAKE_API HipError hipPointerGetAttribute(void* out, int attribute, void* ptr) {
  FAKE_ENTER("hipPointerGetAttribute", kPlain, attribute, static_cast<const void*>(ptr));
  if (out == nullptr || ptr == nullptr) return call.done(kInvalidValue);
  const Region* region = s.region_at(address(ptr));
  crash_on_import(call, region);
  if (region == nullptr) return call.done(kInvalidValue);
  return call.done(one_attribute(s, out, attribute, *region, ptr));
}

FAKE_API HipError hipMemGetAddressRange(void** base, std::size_t* size, void* ptr) {
  FAKE_ENTER("hipMemGetAddressRange", kPlain, static_cast<const void*>(ptr));
  if ((base == nullptr || size == nullptr) && s.on(Quirk::kNullOutCrashes))
    call.crash("writes through a null pointer");
  const Region* region = s.region_at(address(ptr));
  if (region == nullptr) return call.done(kNotFound);
  if (base != nullptr) *base = pointer(region->base);
  if (size != nullptr) *size = region->size;
  return call.done(kSuccess);
}
