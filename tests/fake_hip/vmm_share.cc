// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Handles across processes: export, import, retain, properties, and the dma-buf of an address range.
#include <fcntl.h>

#include <algorithm>
#include <cerrno>

#include "call.h"
#include "hsa_bridge.h"
#include "vmm.h"

namespace hb::fakehip {

bool resolve_import(State& s, Handle& handle) {
  if (handle.object != nullptr) return true;
  const int fd = handle.kept ? handle.kept.get() : handle.import_fd;
  handle.object = BufferObject::open(fd, s.devices.size());
  if (handle.object != nullptr) handle.size = handle.object->size;
  return handle.object != nullptr;
}

namespace {

HipError from_errno() {
  return errno == EMFILE || errno == ENFILE || errno == ENOMEM ? kOutOfMemory : kInvalidValue;
}

// What the caller meant by osHandle, as this version reads it.
int descriptor_from(Call& call, void* os_handle) {
  constexpr std::uintptr_t kNoAddressBelow = 65'536;
  if (call.state().on(Quirk::kFdByPointer)) {
    if (address(os_handle) < kNoAddressBelow) call.crash("a descriptor by value is read as an address");
    return *static_cast<const int*>(os_handle);
  }
  if (address(os_handle) > 0xffffffffu)
    call.state().violation(
        "hipMemImportFromShareableHandle: an address, where this version takes the descriptor itself");
  return static_cast<int>(address(os_handle));
}

HipError import_now(State& s, Handle& handle, int fd) {
  handle.object = BufferObject::open(fd, s.devices.size());
  if (handle.object == nullptr) return from_errno();
  // ROCr looks the owner up among its agents.
  if (s.on(Quirk::kImportNeedsVisibleOwner) &&
      std::find(s.agents.begin(), s.agents.end(), handle.object->line) == s.agents.end())
    return kInvalidValue;
  handle.size = handle.object->size;
  return kSuccess;
}

HipError import_later(State& s, Handle& handle, int fd) {
  if (s.on(Quirk::kImportByNumber)) {
    handle.import_fd = fd;
    return kSuccess;
  }
  handle.kept = UniqueFd(::fcntl(fd, F_DUPFD_CLOEXEC, 3));
  return handle.kept ? kSuccess : from_errno();
}

}  // namespace

HipError export_range(State& s, const void* ptr, std::size_t size, int& fd, std::uint64_t& offset) {
  Region* region = s.region_at(address(ptr));
  if (region == nullptr || region->object == nullptr || region->failed_map || size == 0) return kInvalidValue;
  if (region->kind == RegionKind::kExternal || (region->handle != nullptr && region->handle->imported))
    return kInvalidValue;
  if (region->base + region->size - address(ptr) < size) return kInvalidValue;
  UniqueFd out = descriptor_of(*region);
  if (!out) return from_errno();
  offset = region->offset + (address(ptr) - region->base);
  fd = out.release();
  return kSuccess;
}

}  // namespace hb::fakehip

using namespace hb::fakehip;  // NOLINT: the C ABI over this namespace

FAKE_API HipError hipMemExportToShareableHandle(void* out, const void* handle_word, int type,
                                                unsigned long long flags) {
  FAKE_ENTER("hipMemExportToShareableHandle", kPlain, handle_word, type, flags);
  if (out == nullptr || flags != 0 || type != kHandleFd) return call.done(kInvalidValue);
  const auto handle = s.handle_at(handle_word, "hipMemExportToShareableHandle");
  if (handle == nullptr || handle->prop.requested_handle_type != type) return call.done(kInvalidValue);
  // Runtimes of 6.3 to 7.13 let an import out again; the fake never does: no caller may count on it.
  if (handle->imported) return call.done(kInvalidValue);
  if (handle->export_fd < 0 || !s.on(Quirk::kSharedExportFd)) {
    hb::UniqueFd fd = descriptor_of(*handle);
    if (!fd) return call.done(from_errno());
    *static_cast<int*>(out) = fd.get();
    if (s.on(Quirk::kSharedExportFd)) handle->export_fd = fd.get();
    static_cast<void>(fd.release());
    return call.done(kSuccess);
  }
  *static_cast<int*>(out) = handle->export_fd;
  return call.done(kSuccess);
}

FAKE_API HipError hipMemImportFromShareableHandle(const void** out, void* os_handle, int type) {
  FAKE_ENTER("hipMemImportFromShareableHandle", kPlain, static_cast<const void*>(os_handle), type);
  if (out == nullptr || os_handle == nullptr) return call.done(kInvalidValue);
  if (type != kHandleFd) return call.done(kNotSupported);
  const int fd = descriptor_from(call, os_handle);
  auto handle = std::make_shared<Handle>();
  handle->imported = true;
  handle->prop.type = kTypePinned;
  handle->prop.requested_handle_type = kHandleFd;
  handle->prop.location = {kLocationDevice, current_device()};  // a guess, whatever the truth
  const HipError error = s.on(Quirk::kLazyImport) ? import_later(s, *handle, fd) : import_now(s, *handle, fd);
  if (error != kSuccess) return call.done(error);
  *out = handle.get();
  s.handles.emplace(handle.get(), handle);
  return call.done(kSuccess);
}

FAKE_API HipError hipMemRetainAllocationHandle(const void** out, void* ptr) {
  FAKE_ENTER("hipMemRetainAllocationHandle", kPlain, static_cast<const void*>(ptr));
  if (out == nullptr || ptr == nullptr) return call.done(kInvalidValue);
  const Region* region = s.region_at(address(ptr));
  if (region != nullptr && (region->kind == RegionKind::kMalloc || region->kind == RegionKind::kPool) &&
      s.on(Quirk::kRetainMallocCrashes))
    call.crash("the memory is not of hipMemCreate");
  if (region == nullptr || region->kind != RegionKind::kVmm || region->base != address(ptr))
    return call.done(kInvalidValue);
  if (s.on(Quirk::kRetainCounts)) ++region->handle->references;
  s.handles.emplace(region->handle.get(), region->handle);
  *out = region->handle.get();
  return call.done(kSuccess);
}

FAKE_API HipError hipMemGetAllocationPropertiesFromHandle(AllocationProp* out, const void* handle_word) {
  FAKE_ENTER("hipMemGetAllocationPropertiesFromHandle", kPlain, handle_word);
  const auto handle = s.handle_at(handle_word, "hipMemGetAllocationPropertiesFromHandle");
  if (out == nullptr || handle == nullptr) return call.done(kInvalidValue);
  *out = handle->prop;
  if (handle->imported && handle->object != nullptr && s.on(Quirk::kTrueImportProperties))
    out->location.id = s.ordinal_of(handle->object->line);
  return call.done(kSuccess);
}

#if FAKE_HIP_SONAME >= 7  // the .so.6 has no such symbol
FAKE_API HipError hipMemGetHandleForAddressRange(void* out, void* ptr, std::size_t size, int type,
                                                 unsigned long long flags) {
  FAKE_ENTER("hipMemGetHandleForAddressRange", kPlain, static_cast<const void*>(ptr), size, type, flags);
  if (!s.on(Quirk::kAddressRangeExport)) return call.done(kNotSupported);
  if (out == nullptr || ptr == nullptr || size == 0 || type != 1 || flags != 0)
    return call.done(kInvalidValue);
  std::uint64_t offset = 0;  // of the range in the object: not told
  int fd = -1;
  const HipError error = export_range(s, ptr, size, fd, offset);
  if (error == kSuccess) *static_cast<int*>(out) = fd;
  return call.done(error);
}
#endif
