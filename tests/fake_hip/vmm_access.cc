// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// hipMemSetAccess and hipMemGetAccess: who may touch a mapping.
#include <vector>

#include "accounting.h"
#include "call.h"
#include "vmm.h"

namespace hb::fakehip {
namespace {

// The whole mappings that make up [base, base+size), inside one reservation; empty: they do not.
std::vector<Region*> chain(State& s, std::uintptr_t base, std::size_t size) {
  std::vector<Region*> out;
  std::size_t covered = 0;
  for (auto at = s.regions.find(base); at != s.regions.end() && covered < size; ++at) {
    if (at->first != base + covered || at->second.kind != RegionKind::kVmm) break;
    out.push_back(&at->second);
    covered += at->second.size;
  }
  const auto reservation = s.reservation_at(base);
  // A map that failed silently may lie outside every reservation: its grant fails later, by name.
  if (reservation != s.reservations.end() && reservation->first + reservation->second.size - base < size)
    return {};
  if (covered != size) return {};
  return out;
}

bool first_of_reservation(State& s, std::uintptr_t base) {
  const auto reservation = s.reservation_at(base);
  return reservation == s.reservations.end() || s.regions.lower_bound(reservation->first)->first == base;
}

HipError grant_host(State& s, Region& region, int flags) {
  if (!s.on(Quirk::kGrantHost) || s.on(Quirk::kHostGrantFails)) return kInvalidValue;
  if (region.handle->imported && !s.on(Quirk::kGrantHostOnImport)) return kInvalidValue;
  if (region.line != kHostLine && s.on(Quirk::kNoLargeBar)) return kInvalidValue;
  if (!region.object->show_to_cpu(pointer(region.base), 0, region.size, flags)) return kOutOfMemory;
  region.cpu_access = flags;
  return kSuccess;
}

HipError grant_device(State& s, Region& region, int line, int flags) {
  if (!s.can_access(line, region.line)) return kInvalidValue;
  if (s.grants_to_fail > 0) {
    --s.grants_to_fail;
    return kOutOfMemory;
  }
  if (flags == kProtNone) {
    region.access.erase(line);
    return kSuccess;
  }
  if (line != region.line && region.access.contains(region.line) && !region.access.contains(line) &&
      s.on(Quirk::kOwnerFirstWrongPages))
    region.owner_wrong = true;
  region.access[line] = flags;
  return kSuccess;
}

HipError grant(State& s, const std::vector<Region*>& regions, const AccessDesc& desc) {
  if (desc.flags != kProtNone && desc.flags != kProtRead && desc.flags != kProtReadWrite)
    return kInvalidValue;
  const bool host = desc.location.type == kLocationHost;
  const int line = desc.location.type == kLocationDevice ? s.line_of(desc.location.id) : -1;
  if (!host && line < 0) return kInvalidValue;
  for (Region* region : regions) {
    if (region->failed_map) return kInvalidValue;
    if (region->object == nullptr) {
      if (!resolve_import(s, *region->handle)) return kInvalidValue;
      region->object = region->handle->object;
      region->line = region->object->line;
    }
    if (region->size > region->object->size) return kInvalidValue;
    const HipError error =
        host ? grant_host(s, *region, desc.flags) : grant_device(s, *region, line, desc.flags);
    if (error != kSuccess) return error;
  }
  return kSuccess;
}

}  // namespace
}  // namespace hb::fakehip

using namespace hb::fakehip;  // NOLINT: the C ABI over this namespace

FAKE_API HipError hipMemSetAccess(void* ptr, std::size_t size, const AccessDesc* desc, std::size_t count) {
  std::string list;
  for (std::size_t i = 0; desc != nullptr && i < count; ++i) {
    if (i > 0) list += ' ';
    list += desc[i].location.type == kLocationDevice ? std::to_string(desc[i].location.id)
                                                     : "type" + std::to_string(desc[i].location.type);
    list += ":" + std::to_string(desc[i].flags);
  }
  FAKE_ENTER("hipMemSetAccess", kPlain, static_cast<const void*>(ptr), size, "[" + list + "]");
  if (ptr == nullptr || size == 0 || desc == nullptr || count == 0) return call.done(kInvalidValue);
  const std::vector<Region*> regions = chain(s, address(ptr), size);
  if (regions.empty()) return call.done(kInvalidValue);
  if (s.on(Quirk::kTailGrantFails) && !first_of_reservation(s, address(ptr))) return call.done(kInvalidValue);
  // In array order, nothing is taken back when a later one fails.
  for (std::size_t i = 0; i < count; ++i) {
    if (const HipError error = grant(s, regions, desc[i]); error != kSuccess) return call.done(error);
    if (const auto partial = call.for_body()) return call.done(partial->code);
  }
  return call.done(kSuccess);
}

FAKE_API HipError hipMemGetAccess(unsigned long long* out, const Location* location, void* ptr) {
  FAKE_ENTER("hipMemGetAccess", kPlain, static_cast<const void*>(ptr));
  if (out == nullptr || location == nullptr || ptr == nullptr) return call.done(kInvalidValue);
  const int line = location->type == kLocationDevice ? s.line_of(location->id) : -1;
  const Region* region = s.region_at(address(ptr));
  if (line < 0 || region == nullptr || region->kind != RegionKind::kVmm) return call.done(kInvalidValue);
  const auto found = region->access.find(line);
  *out = static_cast<unsigned long long>(found == region->access.end() ? kProtNone : found->second);
  return call.done(kSuccess);
}
