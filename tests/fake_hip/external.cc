// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// hipImportExternalMemory and the legacy IPC handles, as far as a client meets them.
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>

#include "call.h"
#include "vmm.h"

using namespace hb::fakehip;  // NOLINT: the C ABI over this namespace

// On AMD the descriptor stays the caller's, desc.size is compared with nothing, and only the current device
// gets access.
FAKE_API HipError hipImportExternalMemory(const void** out, const ExternalMemoryHandleDesc* desc) {
  FAKE_ENTER("hipImportExternalMemory", kPlain, desc != nullptr ? desc->handle.fd : -1);
  if (out == nullptr || desc == nullptr || desc->size == 0 || desc->flags != 0)
    return call.done(kInvalidValue);
  constexpr int kOpaqueFd = 1;
  if (desc->type != kOpaqueFd) return call.done(kNotSupported);
  auto memory = std::make_unique<ExternalMemory>();
  memory->object = BufferObject::open(desc->handle.fd, s.devices.size());
  if (memory->object == nullptr) return call.done(kInvalidValue);
  memory->size = desc->size;
  memory->ordinal = current_device();
  memory->line = s.line_of(current_device());
  if (s.on(Quirk::kExternalTakesFd)) memory->owned = hb::UniqueFd(desc->handle.fd);
  *out = memory.get();
  s.externals.emplace(memory.get(), std::move(memory));
  return call.done(kSuccess);
}

FAKE_API HipError hipExternalMemoryGetMappedBuffer(void** out, const void* word,
                                                   const ExternalMemoryBufferDesc* desc) {
  FAKE_ENTER("hipExternalMemoryGetMappedBuffer", kPlain, word);
  const auto found = s.externals.find(word);
  if (out == nullptr || desc == nullptr || found == s.externals.end() || desc->flags != 0)
    return call.done(kInvalidValue);
  ExternalMemory& memory = *found->second;
  if (desc->size == 0 || desc->offset > memory.object->size ||
      desc->size > memory.object->size - desc->offset)
    return call.done(kInvalidValue);
  void* at = ::mmap(nullptr, desc->size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (at == MAP_FAILED) return call.done(kOutOfMemory);
  Region region;
  region.kind = RegionKind::kExternal;
  region.base = address(at);
  region.size = desc->size;
  region.object = memory.object;
  region.offset = desc->offset;
  region.line = memory.line;
  region.ordinal = memory.ordinal;
  region.access[memory.line] = kProtReadWrite;
  memory.buffers.push_back(region.base);
  s.regions.emplace(region.base, std::move(region));
  *out = at;
  return call.done(kSuccess);
}

FAKE_API HipError hipDestroyExternalMemory(const void* word) {
  FAKE_ENTER("hipDestroyExternalMemory", kGivesBack, word);
  const auto found = s.externals.find(word);
  if (found == s.externals.end()) return call.done(kInvalidValue);
  for (const std::uintptr_t base : found->second->buffers) {
    ::munmap(pointer(base), s.regions.at(base).size);
    s.regions.erase(base);
  }
  s.externals.erase(found);
  return call.done(kSuccess);
}

namespace {

struct IpcContent {
  pid_t pid;
  std::uintptr_t base;
  std::size_t size;
};

}  // namespace

FAKE_API HipError hipIpcGetMemHandle(IpcHandle* out, void* ptr) {
  FAKE_ENTER("hipIpcGetMemHandle", kPlain, static_cast<const void*>(ptr));
  if (out == nullptr || ptr == nullptr) return call.done(kInvalidValue);
  const Region* region = s.region_at(address(ptr));
  if (region == nullptr) return call.done(kInvalidValue);
  if (region->kind == RegionKind::kPool && s.on(Quirk::kPoolIpcHandle))
    s.violation("hipIpcGetMemHandle: pool memory; the real handle is bad and ends in a kernel BUG");
  else if (region->kind == RegionKind::kVmm && region->handle->imported)
    s.violation("hipIpcGetMemHandle: imported memory; the real handle is bad and ends in a kernel BUG");
  else if (region->kind != RegionKind::kMalloc)
    return call.done(kInvalidValue);
  const IpcContent content{::getpid(), region->base, region->size};
  std::memset(out->bytes, 0, sizeof out->bytes);
  std::memcpy(out->bytes, &content, sizeof content);
  return call.done(kSuccess);
}

// Only the argument rules: no transport. Another process gets NotSupported.
FAKE_API HipError hipIpcOpenMemHandle(void** out, IpcHandle handle, unsigned flags) {
  FAKE_ENTER("hipIpcOpenMemHandle", kPlain, flags);
  constexpr unsigned kLazyEnablePeerAccess = 1;  // since 6.0
  if (out == nullptr || flags != kLazyEnablePeerAccess) return call.done(kInvalidValue);
  IpcContent content{};
  std::memcpy(&content, handle.bytes, sizeof content);
  return call.done(content.pid == ::getpid() ? kInvalidContext : kNotSupported);
}

FAKE_API HipError hipIpcCloseMemHandle(void* ptr) {
  FAKE_ENTER("hipIpcCloseMemHandle", kGivesBack, static_cast<const void*>(ptr));
  return call.done(kInvalidValue);
}
