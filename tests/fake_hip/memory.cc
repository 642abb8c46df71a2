// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// hipMalloc with ROCr's fragment allocator, pool memory, host memory.
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "accounting.h"
#include "call.h"
#include "vmm.h"

namespace hb::fakehip {
namespace {

constexpr std::size_t kFragmentUnit = 256;
constexpr std::uint64_t kNominalVram = std::uint64_t{64} << 30;

std::size_t round_up(std::size_t size, std::size_t unit) { return (size + unit - 1) / unit * unit; }

// Every visible device that reaches the owner may copy from hipMalloc memory.
std::map<int, int> everyone(const State& s, int line) {
  std::map<int, int> out;
  for (const int other : s.visible)
    if (s.can_access(other, line)) out[other] = kProtReadWrite;
  return out;
}

struct Placed {
  std::shared_ptr<BufferObject> object;
  void* va = nullptr;
};

// Exactly `size` bytes of address space at a 2 MiB boundary, and the object behind it.
Placed place(State& s, int line, std::size_t size, bool cpu) {
  Placed out;
  out.object = s.allocate(line, size);
  if (out.object == nullptr) return {};
  void* raw = nullptr;
  std::size_t raw_size = 0;
  const std::uintptr_t base = reserve_address_space(size, kLargePage, raw, raw_size);
  if (base == 0) return {};
  ::munmap(raw, base - address(raw));
  const std::uintptr_t end = address(raw) + raw_size;
  ::munmap(pointer(base + size), end - base - size);
  out.va = pointer(base);
  if (cpu && !out.object->show_to_cpu(out.va, 0, size, kProtReadWrite)) return {};
  return out;
}

Region& add_region(State& s, RegionKind kind, std::uintptr_t base, std::size_t size, int line, int ordinal) {
  Region region;
  region.kind = kind;
  region.base = base;
  region.size = size;
  region.line = line;
  region.ordinal = ordinal;
  region.access = line < 0 ? std::map<int, int>{} : everyone(s, line);
  return s.regions.emplace(base, std::move(region)).first->second;
}

// A place in a block that small requests share; false: no memory.
bool place_fragment(State& s, int line, std::size_t size, FragmentBlock*& block, std::size_t& offset) {
  for (FragmentBlock& candidate : s.fragments[line]) {
    offset = 0;
    for (const auto& [at, length] : candidate.taken) {
      if (at - offset >= size) break;
      offset = at + length;
    }
    if (kLargePage - offset < size) continue;
    block = &candidate;
    return true;
  }
  Placed placed = place(s, line, kLargePage, !s.on(Quirk::kNoLargeBar));
  if (placed.va == nullptr) return false;
  s.fragments[line].push_back({placed.object, placed.va, {}});
  block = &s.fragments[line].back();
  offset = 0;
  return true;
}

HipError allocate(State& s, void** out, std::size_t size) {
  const int ordinal = current_device();
  const int line = s.line_of(ordinal);
  if (size < kLargePage && std::getenv("HSA_DISABLE_FRAGMENT_ALLOCATOR") == nullptr) {
    const std::size_t rounded = round_up(size, kFragmentUnit);
    FragmentBlock* block = nullptr;
    std::size_t offset = 0;
    if (!place_fragment(s, line, rounded, block, offset)) return kOutOfMemory;
    block->taken[offset] = rounded;
    *out = pointer(address(block->va) + offset);
    Region& region = add_region(s, RegionKind::kMalloc, address(*out), size, line, ordinal);
    region.object = block->object;
    region.offset = offset;
    return kSuccess;
  }
  const Placed placed = place(s, line, round_up(size, kSmallPage), !s.on(Quirk::kNoLargeBar));
  if (placed.va == nullptr) return kOutOfMemory;
  *out = placed.va;
  add_region(s, RegionKind::kMalloc, address(placed.va), size, line, ordinal).object = placed.object;
  return kSuccess;
}

void give_back(State& s, std::map<std::uintptr_t, Region>::iterator at) {
  Region region = std::move(at->second);
  s.regions.erase(at);
  auto& blocks = s.fragments[region.line];
  for (auto block = blocks.begin(); block != blocks.end(); ++block) {
    if (block->object != region.object) continue;
    block->taken.erase(region.offset);
    if (!block->taken.empty()) return;
    ::munmap(block->va, kLargePage);
    blocks.erase(block);
    return;
  }
  ::munmap(pointer(region.base), round_up(region.size, kSmallPage));
}

}  // namespace
}  // namespace hb::fakehip

using namespace hb::fakehip;  // NOLINT: the C ABI over this namespace

FAKE_API HipError hipMalloc(void** out, std::size_t size) {
  FAKE_ENTER("hipMalloc", kPlain, size);
  if (out == nullptr) return call.done(kInvalidValue);
  if (const auto refusal = call.refused_by_capture()) return *refusal;
  *out = nullptr;
  if (s.line_of(current_device()) < 0) return call.done(kNoDevice);
  return call.done(size == 0 ? kSuccess : allocate(s, out, size));
}

FAKE_API HipError hipFree(void* ptr) {
  FAKE_ENTER("hipFree", kGivesBack, static_cast<const void*>(ptr));
  if (ptr == nullptr) return call.done(kSuccess);
  if (const auto refusal = call.refused_by_capture()) return *refusal;
  auto at = s.regions.find(address(ptr));
  if (at == s.regions.end() ||
      (at->second.kind != RegionKind::kMalloc && at->second.kind != RegionKind::kPool))
    return call.done(kInvalidValue);
  const int ordinal = at->second.ordinal;
  call.wait_until([&] { return s.streams.device_idle(ordinal); });
  at = s.regions.find(address(ptr));
  if (at == s.regions.end()) return call.done(kInvalidValue);
  give_back(s, at);
  return call.done(kSuccess);
}

FAKE_API HipError hipMallocAsync(void** out, std::size_t size, const void* stream_word) {
  FAKE_ENTER("hipMallocAsync", kPlain, size, stream_word);
  Stream* stream = s.streams.find(stream_word, current_device());
  if (out == nullptr || stream == nullptr) return call.done(kInvalidValue);
  // VMM memory inside: the CPU does not see it.
  const int line = s.line_of(stream->ordinal);
  const Placed placed = place(s, line, round_up(size, kSmallPage), false);
  if (placed.va == nullptr) return call.done(kOutOfMemory);
  *out = placed.va;
  add_region(s, RegionKind::kPool, address(placed.va), size, line, stream->ordinal).object = placed.object;
  return call.done(kSuccess);
}

FAKE_API HipError hipFreeAsync(void* ptr, const void* stream_word) {
  FAKE_ENTER("hipFreeAsync", kGivesBack, static_cast<const void*>(ptr), stream_word);
  Stream* stream = s.streams.find(stream_word, current_device());
  const auto at = s.regions.find(address(ptr));
  if (stream == nullptr || at == s.regions.end() || at->second.kind != RegionKind::kPool)
    return call.done(kInvalidValue);
  s.streams.submit(*stream, {nullptr, 0, [&s, base = address(ptr)] {
                               if (const auto found = s.regions.find(base); found != s.regions.end())
                                 give_back(s, found);
                             }});
  return call.done(kSuccess);
}

FAKE_API HipError hipDeviceGetDefaultMemPool(const void** out, int device) {
  FAKE_ENTER("hipDeviceGetDefaultMemPool", kPlain, device);
  if (out == nullptr || s.line_of(device) < 0) return call.done(kInvalidValue);
  *out = &s.devices[static_cast<std::size_t>(s.line_of(device))];
  return call.done(kSuccess);
}

FAKE_API HipError hipHostMalloc(void** out, std::size_t size, unsigned flags) {
  FAKE_ENTER("hipHostMalloc", kPlain, size, flags);
  if (out == nullptr || size == 0) return call.done(kInvalidValue);
  if (const auto refusal = call.refused_by_capture()) return *refusal;
  void* at =
      ::mmap(nullptr, round_up(size, kSmallPage), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) return call.done(kOutOfMemory);
  *out = at;
  add_region(s, RegionKind::kHost, address(at), size, -1, current_device());
  return call.done(kSuccess);
}

FAKE_API HipError hipHostFree(void* ptr) {
  FAKE_ENTER("hipHostFree", kGivesBack, static_cast<const void*>(ptr));
  if (ptr == nullptr) return call.done(kSuccess);
  const auto at = s.regions.find(address(ptr));
  if (at == s.regions.end() || at->second.kind != RegionKind::kHost) return call.done(kInvalidValue);
  ::munmap(ptr, round_up(at->second.size, kSmallPage));
  s.regions.erase(at);
  return call.done(kSuccess);
}

FAKE_API HipError hipHostRegister(void* ptr, std::size_t size, unsigned flags) {
  FAKE_ENTER("hipHostRegister", kPlain, static_cast<const void*>(ptr), size, flags);
  if (ptr == nullptr || size == 0) return call.done(kInvalidValue);
  if (s.region_at(address(ptr)) != nullptr) return call.done(kHostMemoryAlreadyRegistered);
  add_region(s, RegionKind::kRegistered, address(ptr), size, -1, current_device());
  return call.done(kSuccess);
}

FAKE_API HipError hipHostUnregister(void* ptr) {
  FAKE_ENTER("hipHostUnregister", kGivesBack, static_cast<const void*>(ptr));
  const auto at = s.regions.find(address(ptr));
  if (at == s.regions.end() || at->second.kind != RegionKind::kRegistered)
    return call.done(kHostMemoryNotRegistered);
  s.regions.erase(at);
  return call.done(kSuccess);
}

FAKE_API HipError hipMemGetInfo(std::size_t* free_bytes, std::size_t* total) {
  FAKE_ENTER("hipMemGetInfo", kPlain);
  const int line = s.line_of(current_device());
  if (free_bytes == nullptr || total == nullptr || line < 0) return call.done(kInvalidValue);
  const std::uint64_t vram = s.devices[static_cast<std::size_t>(line)].vram;
  *total = vram != 0 ? vram : kNominalVram;
  const std::uint64_t used = accounted_bytes(s.machine, line);
  *free_bytes = used > *total ? 0 : *total - used;
  return call.done(kSuccess);
}
