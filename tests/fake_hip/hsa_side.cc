// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// The HIP half's answers to HSA calls. HSA sees the devices after ROCR_VISIBLE_DEVICES alone.
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "accounting.h"
#include "call.h"
#include "hsa_bridge.h"

namespace hb::fakehip {
namespace {

std::vector<int> agents(const State& s) {
  static const std::vector<int> lines =
      visible_lines(s.devices, std::getenv("ROCR_VISIBLE_DEVICES"), nullptr, nullptr);
  return lines;
}

int agent_count() {
  const State& s = State::get();
  return static_cast<int>(agents(s).size());
}

int agent_info(int position, int attribute, void* value) {
  const State& s = State::get();
  const std::vector<int> lines = agents(s);
  if (position < 0 || static_cast<std::size_t>(position) >= lines.size()) return kHsaInvalidAgent;
  const Device& device = s.devices[static_cast<std::size_t>(lines[static_cast<std::size_t>(position)])];
  constexpr int kName = 0;
  constexpr int kType = 17;
  constexpr int kBdfId = 0xA006;
  constexpr int kDomain = 0xA00F;
  constexpr int kUuid = 0xA011;
  const auto put = [value](std::uint32_t number) { std::memcpy(value, &number, sizeof number); };
  switch (attribute) {
    case kName:
      std::strncpy(static_cast<char*>(value), device.gfx.c_str(), 64);
      return kHsaSuccess;
    case kType:
      put(1);  // GPU
      return kHsaSuccess;
    case kBdfId:
      put(device.bus << 8 | device.slot << 3 | (s.on(Quirk::kPartitionInFunction) ? device.partition : 0));
      return kHsaSuccess;
    case kDomain:
      put(device.domain);
      return kHsaSuccess;
    case kUuid:
      std::memcpy(value, ("GPU-" + device.uuid).c_str(), device.uuid.size() + 5);
      return kHsaSuccess;
    default:
      return kHsaInvalidArgument;
  }
}

int to_hsa(HipError error) {
  return error == kSuccess ? kHsaSuccess : error == kOutOfMemory ? kHsaOutOfResources : kHsaInvalidAllocation;
}

HipError export_call(const void* ptr, std::size_t size, int* fd, std::uint64_t* offset) {
  FAKE_ENTER("hsa_amd_portable_export_dmabuf", kPlain, ptr, size);
  return call.done(export_range(s, ptr, size, *fd, *offset));
}

int portable_export(const void* ptr, std::size_t size, int* fd, std::uint64_t* offset) {
  if (fd == nullptr || offset == nullptr) return kHsaInvalidArgument;
  const HipError before = last_error();  // HSA does not know HIP's error
  const int status = to_hsa(export_call(ptr, size, fd, offset));
  last_error() = before;
  return status;
}

int portable_close(int fd) { return ::close(fd) == 0 ? kHsaSuccess : kHsaError; }

HipError info_call(const void* ptr, HsaPointerInfo& info, std::vector<std::uint64_t>& accessible) {
  FAKE_ENTER("hsa_amd_pointer_info", kPlain, ptr);
  const Region* region = s.region_at(address(ptr));
  info.type = kHsaUnknown;
  if (region == nullptr) {
    if (const auto at = s.reservation_at(address(ptr)); at != s.reservations.end()) {
      info.type = kHsaReserved;
      info.agent_base_address = pointer(at->first);
      info.size_in_bytes = at->second.size;
    }
    return call.done(kSuccess);
  }
  if (region->handle != nullptr && region->handle->imported && s.on(Quirk::kImportQueryCrashes))
    call.crash("the pointer lies in an imported mapping");
  const bool vmm = region->kind == RegionKind::kVmm || region->kind == RegionKind::kPool;
  info.type = vmm ? kHsaVmem : region->kind == RegionKind::kRegistered ? kHsaLocked : kHsaAllocation;
  info.agent_base_address = pointer(region->base);
  if (vmm && s.on(Quirk::kPointerInfoQueriedBase)) info.agent_base_address = const_cast<void*>(ptr);
  info.size_in_bytes = region->size;
  if (region->cpu_access != kProtNone || region->object == nullptr)
    info.host_base_address = pointer(region->base);
  const std::vector<int> lines = agents(s);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (lines[i] == region->line) info.agent_owner = i + 1;
    if (region->access.contains(lines[i])) accessible.push_back(i + 1);
  }
  return call.done(kSuccess);
}

int pointer_info(const void* ptr, HsaPointerInfo* info, std::uint32_t* count, std::uint64_t* out,
                 std::uint32_t capacity) {
  if (ptr == nullptr || info == nullptr) return kHsaInvalidArgument;
  HsaPointerInfo full{};
  std::vector<std::uint64_t> accessible;
  const HipError before = last_error();
  const int status = to_hsa(info_call(ptr, full, accessible));
  last_error() = before;
  if (status != kHsaSuccess) return status;
  full.size = info->size;
  std::memcpy(info, &full, info->size < sizeof full ? info->size : sizeof full);
  if (count != nullptr) *count = static_cast<std::uint32_t>(accessible.size());
  for (std::size_t i = 0; out != nullptr && i < accessible.size() && i < capacity; ++i)
    out[i] = accessible[i];
  return kHsaSuccess;
}

}  // namespace

const HsaTable kHsaTable = {agent_count, agent_info, portable_export, portable_close, pointer_info};

}  // namespace hb::fakehip
