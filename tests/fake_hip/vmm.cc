// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// hipMemCreate, Release, AddressReserve, AddressFree, Map, Unmap.
#include "vmm.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "accounting.h"
#include "call.h"

namespace hb::fakehip {

std::uintptr_t reserve_address_space(std::size_t size, std::size_t skew, void*& raw, std::size_t& raw_size) {
  constexpr std::size_t kSpare = 6 * kLargePage;
  raw_size = size + kSpare;
  raw = ::mmap(nullptr, raw_size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (raw == MAP_FAILED) return 0;
  const std::uintptr_t aligned = (address(raw) + 2 * kLargePage - 1) & ~(2 * kLargePage - 1);
  return aligned + skew;
}

UniqueFd descriptor_of(const Handle& handle) {
  if (handle.kept) return handle.kept.duplicate();
  if (handle.object != nullptr) return handle.object->descriptor();
  errno = EBADF;
  return {};
}

UniqueFd descriptor_of(const Region& region) {
  return region.handle != nullptr ? descriptor_of(*region.handle) : region.object->descriptor();
}

void finish_handle(State& s, const std::shared_ptr<Handle>& handle) {
  if (handle->references > 0 || handle->mappings > 0) return;
  if (handle->export_fd >= 0 && handle->object != nullptr) {
    if (!s.on(Quirk::kRuntimeClosesExportFd)) {
      s.export_fds.push_back({handle->export_fd, handle->object->inode});
    } else if (handle->object->same_file(handle->export_fd)) {
      ::close(handle->export_fd);
    } else {
      s.violation("descriptor " + std::to_string(handle->export_fd) +
                  " is the runtime's and was closed: its own close would now hit a stranger");
    }
  }
  handle->export_fd = -1;
  handle->kept.reset();
  handle->object.reset();
  s.handles.erase(handle.get());
  s.dead_handles.push_back(handle);
}

void remove_region(State& s, std::map<std::uintptr_t, Region>::iterator at) {
  Region region = std::move(at->second);
  s.regions.erase(at);
  if (region.cpu_access != kProtNone && region.object != nullptr)
    static_cast<void>(region.object->show_to_cpu(pointer(region.base), 0, region.size, kProtNone));
  if (s.on(Quirk::kReservationPinsMemory) && region.object != nullptr)
    if (const auto owner = s.reservation_at(region.base); owner != s.reservations.end())
      owner->second.pinned.push_back(region.object);
  if (region.handle == nullptr) return;
  --region.handle->mappings;
  region.object.reset();
  finish_handle(s, region.handle);
}

namespace {

HipError check_prop(const State& s, const AllocationProp& prop) {
  if (prop.type != kTypePinned && !(prop.type == kTypeUncached && s.on(Quirk::kUncachedType)))
    return kInvalidValue;
  const Location where = prop.location;
  if (where.type == kLocationDevice) return s.line_of(where.id) < 0 ? kInvalidValue : kSuccess;
  if (where.type == kLocationHost && s.on(Quirk::kGrantHost)) return kSuccess;
  if (where.type == kLocationHostNuma && s.on(Quirk::kHostNuma)) return kSuccess;
  return kInvalidValue;
}

bool overlaps(State& s, std::uintptr_t base, std::size_t size) {
  const auto next = s.regions.lower_bound(base);
  return s.region_at(base) != nullptr || (next != s.regions.end() && next->first < base + size);
}

// Everything the map itself can find wrong.
HipError check_map(State& s, std::uintptr_t base, std::size_t size, const Handle& handle) {
  const auto reservation = s.reservation_at(base);
  if (reservation == s.reservations.end()) return kInvalidValue;
  if (reservation->first + reservation->second.size - base < size) return kInvalidValue;
  if (base % kSmallPage != 0 || size % kSmallPage != 0 || overlaps(s, base, size)) return kInvalidValue;
  if (handle.object != nullptr && size > handle.object->size) return kInvalidValue;
  return kSuccess;
}

// Runtimes from 7.14 on wait for every stream that could still use the range.
// Nothing runs on a lost device, whatever is queued there.
bool all_idle(const State& s, const std::vector<int>& ordinals) {
  const int lost = s.quirks.value(Quirk::kLostDevice) - 1;
  return std::all_of(ordinals.begin(), ordinals.end(),
                     [&](int o) { return o == lost || s.streams.device_idle(o); });
}

std::vector<int> users_of(const State& s, std::uintptr_t base, std::size_t size) {
  std::vector<int> out;
  for (auto at = s.regions.lower_bound(base); at != s.regions.end() && at->first < base + size; ++at) {
    out.push_back(s.ordinal_of(at->second.line));
    for (const auto& [line, flags] : at->second.access) out.push_back(s.ordinal_of(line));
  }
  return out;
}

}  // namespace
}  // namespace hb::fakehip

using namespace hb::fakehip;  // NOLINT: the entry points below are the C ABI over this namespace

FAKE_API HipError hipMemGetAllocationGranularity(std::size_t* out, const AllocationProp* prop, int option) {
  FAKE_ENTER("hipMemGetAllocationGranularity", kPlain, static_cast<const void*>(prop), option);
  if (out == nullptr || prop == nullptr || option < 0 || option > 1) return call.done(kInvalidValue);
  if (const HipError error = check_prop(s, *prop); error != kSuccess) return call.done(error);
  *out = option == 1 && s.on(Quirk::kGranularity2M) ? kLargePage : kSmallPage;
  return call.done(kSuccess);
}

FAKE_API HipError hipMemCreate(const void** out, std::size_t size, const AllocationProp* prop,
                               unsigned long long flags) {
  FAKE_ENTER("hipMemCreate", kPlain, size, prop != nullptr ? prop->location.id : -1, flags);
  if (out == nullptr || size == 0 || prop == nullptr || flags != 0) return call.done(kInvalidValue);
  if (const HipError error = check_prop(s, *prop); error != kSuccess) return call.done(error);
  if (prop->requested_handle_type != kHandleNone && prop->requested_handle_type != kHandleFd)
    return call.done(kNotSupported);
  if (s.on(Quirk::kNoVmm)) return call.done(kNotSupported);
  if (size % kSmallPage != 0) return call.done(kInvalidValue);
  // The location is only a label: memory comes from the thread's current device.
  const int line = prop->location.type == kLocationDevice ? s.line_of(current_device()) : kHostLine;
  auto handle = std::make_shared<Handle>();
  handle->prop = *prop;
  handle->size = size;
  handle->object = s.allocate(line, size, s.on(Quirk::kFdPerCreate) ? &handle->kept : nullptr);
  // A full descriptor table is told as memory, too.
  if (handle->object == nullptr) return call.done(kOutOfMemory);
  *out = handle.get();
  s.handles.emplace(handle.get(), handle);
  return call.done(kSuccess);
}

FAKE_API HipError hipMemRelease(const void* handle_word) {
  FAKE_ENTER("hipMemRelease", kGivesBack, handle_word);
  const auto handle = s.handle_at(handle_word, "hipMemRelease");
  if (handle == nullptr) return call.done(kInvalidValue);
  if (handle->references == 0)
    s.violation("hipMemRelease: a reference that hipMemRetainAllocationHandle never took");
  if (handle->references > 0) --handle->references;
  if (handle->references == 0) s.handles.erase(handle_word);
  finish_handle(s, handle);
  return call.done(kSuccess);
}

FAKE_API HipError hipMemAddressReserve(void** out, std::size_t size, std::size_t alignment, void* wish,
                                       unsigned long long flags) {
  FAKE_ENTER("hipMemAddressReserve", kPlain, size, alignment, static_cast<const void*>(wish), flags);
  if (out == nullptr || flags != 0) return call.done(kInvalidValue);
  if (size == 0 || size % kSmallPage != 0)
    return call.done(s.on(Quirk::kMisalignedIsOutOfMemory) ? kOutOfMemory : kInvalidValue);
  Reservation reservation;
  reservation.size = size;
  std::uintptr_t base = 0;
  const auto kept = s.free_reservations.find(address(wish));
  if (wish != nullptr && kept != s.free_reservations.end() && kept->second.size == size &&
      !s.on(Quirk::kReserveElsewhere)) {
    base = kept->first;
    reservation = std::move(kept->second);
    s.free_reservations.erase(kept);
  } else if (wish != nullptr && address(wish) % kSmallPage == 0 && !s.on(Quirk::kReserveElsewhere)) {
    void* at = ::mmap(wish, size, PROT_NONE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
    if (at != MAP_FAILED && at != wish) ::munmap(at, size);
    if (at == wish) {
      base = address(wish);
      reservation.raw = wish;
      reservation.raw_size = size;
    }
  }
  for (auto at = s.free_reservations.begin(); wish == nullptr && at != s.free_reservations.end(); ++at) {
    if (at->second.size != size) continue;
    base = at->first;
    reservation = std::move(at->second);
    s.free_reservations.erase(at);
    break;
  }
  if (base == 0) {  // another place, and yet success
    base = reserve_address_space(size, s.on(Quirk::kReserveSmallAlign) ? kSmallPage : kLargePage,
                                 reservation.raw, reservation.raw_size);
    // By chance the wished place: still inside `raw`, which is that much larger.
    if (base != 0 && base == address(wish) && reservation.raw != wish) base += 2 * kLargePage;
  }
  if (base == 0) return call.done(kOutOfMemory);
  s.reservations.emplace(base, std::move(reservation));
  *out = pointer(base);
  return call.done(kSuccess);
}

FAKE_API HipError hipMemAddressFree(void* ptr, std::size_t size) {
  FAKE_ENTER("hipMemAddressFree", kGivesBack, static_cast<const void*>(ptr), size);
  if (ptr == nullptr || size == 0) return call.done(kInvalidValue);
  const auto found = s.reservations.find(address(ptr));
  if (found == s.reservations.end()) {
    if (s.on(Quirk::kUnknownFreeCrashes)) call.crash("address was not reserved");
    return call.done(kInvalidValue);
  }
  if (size != found->second.size)
    s.violation("hipMemAddressFree: " + std::to_string(size) + " bytes of a reservation of " +
                std::to_string(found->second.size));
  const auto inside = s.regions.lower_bound(found->first);
  if (inside != s.regions.end() && inside->first < found->first + found->second.size) {
    s.violation("hipMemAddressFree: the reservation still has mappings");
    return call.done(kInvalidValue);
  }
  found->second.pinned.clear();
  if (s.on(Quirk::kReuseAddresses))
    s.free_reservations.insert(std::move(*found));
  else
    ::munmap(found->second.raw, found->second.raw_size);
  s.reservations.erase(found);
  return call.done(kSuccess);
}

FAKE_API HipError hipMemMap(void* ptr, std::size_t size, std::size_t offset, const void* handle_word,
                            unsigned long long flags) {
  FAKE_ENTER("hipMemMap", kPlain, static_cast<const void*>(ptr), size, offset, handle_word, flags);
  if (ptr == nullptr || size == 0 || offset != 0 || flags != 0) return call.done(kInvalidValue);
  const auto handle = s.handle_at(handle_word, "hipMemMap");
  if (handle == nullptr) return call.done(kInvalidValue);
  if (s.on(Quirk::kMapOnNullStream)) {
    if (const auto refusal = call.refused_by_capture()) return *refusal;
    const int ordinal = current_device();
    call.wait_until([&] { return s.streams.null_stream_idle(ordinal); });
  }
  HipError error = check_map(s, address(ptr), size, *handle);
  if (const auto late = call.for_body(); late && late->how == InjectHow::kLate) error = late->code;
  // Where it would hide another mapping nothing can be recorded, and no runtime keeps quiet.
  const bool taken = overlaps(s, address(ptr), size);
  if (error != kSuccess && (taken || (!s.on(Quirk::kLateMapErrors) && !call.for_body())))
    return call.done(error);
  Region region;
  region.base = address(ptr);
  region.size = size;
  region.handle = handle;
  region.object = handle->object;
  region.line = handle->object != nullptr ? handle->object->line : -1;
  region.ordinal = handle->prop.location.id;
  region.failed_map = error != kSuccess;
  ++handle->mappings;
  s.regions.emplace(region.base, std::move(region));
  return call.done(kSuccess);
}

FAKE_API HipError hipMemUnmap(void* ptr, std::size_t size) {
  FAKE_ENTER("hipMemUnmap", kGivesBack, static_cast<const void*>(ptr), size);
  if (ptr == nullptr || size == 0) return call.done(kInvalidValue);
  if (s.on(Quirk::kUnmapWaits)) {
    if (const auto refusal = call.refused_by_capture()) return *refusal;
    const std::vector<int> users = users_of(s, address(ptr), size);
    call.wait_until([&] { return all_idle(s, users); });
  }
  auto at = s.regions.find(address(ptr));
  if (at == s.regions.end() || at->second.kind != RegionKind::kVmm) {
    if (s.on(Quirk::kUnknownUnmapCrashes)) call.crash("nothing is mapped at that address");
    return call.done(kInvalidValue);
  }
  std::size_t covered = 0;
  int mappings = 0;
  for (auto next = at; next != s.regions.end() && covered < size && next->first == address(ptr) + covered;
       ++next) {
    covered += next->second.size;
    ++mappings;
  }
  if (covered != size) {
    s.violation("hipMemUnmap: " + std::to_string(size) + " bytes are not whole mappings");
    return call.done(kInvalidValue);
  }
  if (mappings > 1 && s.on(Quirk::kUnmapSpanLeaks))
    s.violation("hipMemUnmap: one call over " + std::to_string(mappings) +
                " mappings leaks use counts on this version");
  for (; mappings > 0; --mappings) remove_region(s, at++);
  return call.done(kSuccess);
}
