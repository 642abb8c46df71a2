// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "providers/hip/provider.h"

#include <mutex>
#include <utility>

#include "hipbroker/hipbroker.h"
#include "per_process.h"
#include "providers/hip/allocation.h"
#include "providers/hip/driver.h"
#include "providers/hip/external.h"
#include "providers/hip/foreign.h"
#include "providers/hip/imported_range.h"
#include "providers/hip/vmm.h"

namespace hb::client::hip {
namespace {

// What a process sees of its GPUs does not change: the runtime read the variables when it started.
struct Seen {
  std::mutex mutex;
  Here here;
};
constinit PerProcess<Seen> g_seen;

}  // namespace

Result<Here> here(Which which) {
  auto runtime = which == Which::kAny ? Runtime::get() : Runtime::get_loaded();
  if (!runtime) return tl::unexpected(std::move(runtime.error()));
  Seen& seen = g_seen.get();
  const std::lock_guard guard(seen.mutex);
  if (seen.here.runtime == *runtime) return seen.here;
  auto devices = DeviceTable::read(**runtime, sysfs_root());
  if (!devices) return tl::unexpected(std::move(devices.error()));
  seen.here = {*runtime, std::move(*devices)};
  return seen.here;
}

int ordinal_of(const DeviceId& id) {
  Seen* const seen = g_seen.find();
  if (seen == nullptr) return -1;
  const std::lock_guard guard(seen->mutex);
  const Device* device = seen->here.devices.find(id);
  return device != nullptr ? device->ordinal : -1;
}

Known known_by(const Here& here, const Device& device, ProbeReport report) {
  Known out;
  out.device = device;
  out.report = std::move(report);
  Quirks quirks(here.runtime->version());
  out.report.findings.apply(quirks);
  out.context = std::make_shared<const Context>(Context{here.runtime, quirks, here.devices});
  return out;
}

Known known_of(const Here& here, const Device& device) {
  return known_by(here, device, probe(*here.runtime, device, sysfs_root()));
}

namespace {

Result<const Device*> device_at(const Here& here, int ordinal) {
  if (ordinal == AllocateRequest::kCurrentDevice) {
    const auto current = current_device(*here.runtime);
    if (!current) return tl::unexpected(current.error());
    ordinal = *current;
  }
  if (const Device* device = here.devices.at(ordinal); device != nullptr) return device;
  Error error =
      limit_error(HB_DEVICE, "device", static_cast<std::uint64_t>(ordinal), here.devices.devices().size(),
                  "device " + std::to_string(ordinal) + " is asked for; this process sees " +
                      std::to_string(here.devices.devices().size()) + ", counted from 0");
  return fail(std::move(error));
}

// The ordinals that access_for() wants, where an empty list means all.
Result<std::vector<int>> ordinals_of(const Here& here, const DeviceSet& set, const Device* owner) {
  if (set.all) return std::vector<int>();
  for (const int ordinal : set.ordinals)
    if (auto known = ordinal < 0 ? Result<const Device*>(fail(
                                       HB_DEVICE, "peer " + std::to_string(ordinal) + " is not an ordinal"))
                                 : device_at(here, ordinal);
        !known)
      return tl::unexpected(std::move(known.error()));
  if (!set.ordinals.empty() || owner == nullptr) return set.ordinals;
  return std::vector<int>{owner->ordinal};
}

// Who is to reach an import, as ordinals; empty = every visible one that can. Never empty where the owner is
// hidden: the first of them is the one whose calls are made then.
Result<std::vector<int>> users_of_import(const Here& here, const RangeRequest& request, const Device* owner) {
  std::vector<int> out;
  if (!request.peers.exporters) {
    auto asked = ordinals_of(here, request.peers, owner);
    if (!asked || !asked->empty() || owner != nullptr) return asked;
  } else {
    for (const int ordinal : here.devices.ordinals(request.exporter_peers, nullptr)) {
      // The exporter's word that it is reached; this process's runtime may see less.
      const auto reaches = owner == nullptr ? Result<bool>(true)
                                            : here.devices.can_access(*here.runtime, ordinal, owner->ordinal);
      if (!reaches) return tl::unexpected(reaches.error());
      if (*reaches) out.push_back(ordinal);
    }
    if (owner != nullptr) out.push_back(owner->ordinal);
    if (!out.empty()) return out;
  }
  const auto current = current_device(*here.runtime);
  if (!current) return tl::unexpected(current.error());
  if (here.devices.at(*current) != nullptr) out.push_back(*current);
  for (const Device& device : here.devices.devices())
    if (device.ordinal != *current) out.push_back(device.ordinal);
  return out;
}

}  // namespace

Result<Known> known_of(int ordinal) {
  const auto now = here();
  if (!now) return tl::unexpected(now.error());
  const auto device = device_at(*now, ordinal);
  if (!device) return tl::unexpected(device.error());
  return known_of(*now, **device);
}

Result<Placed> place(const AllocateRequest& request) {
  if (request.sealed)
    return fail(HB_INVALID, "sealed is for host memory; nothing enforces read-only on GPU memory");
  if (request.dmabuf)
    return fail(HB_INVALID, "dmabuf is for host memory; of GPU memory the driver decides what it exports");
  const auto now = here();
  if (!now) return tl::unexpected(now.error());
  const Device* device = nullptr;
  if (!request.device_id.empty()) {
    device = now->devices.find(request.device_id);
    if (device == nullptr) return fail(now->devices.not_visible(request.device_id, "allocating"));
  } else {
    const auto found = device_at(*now, request.device);
    if (!found) return tl::unexpected(found.error());
    device = *found;
  }
  Known known = known_of(*now, *device);
  if (auto able = demand(*now->runtime, known.report, Ability::kExport); !able)
    return tl::unexpected(std::move(able.error()));
  if (request.host == HostAccess::kRequire)
    if (auto able = demand(*now->runtime, known.report, Ability::kHostOnOwn); !able)
      return tl::unexpected(std::move(able.error()));
  const auto peers = ordinals_of(*now, request.peers, device);
  if (!peers) return tl::unexpected(peers.error());
  auto access = access_for(*known.context, device->ordinal, *peers, request.host);
  if (!access) return tl::unexpected(std::move(access.error()));
  return Placed{std::move(known), std::move(*access)};
}

Result<std::unique_ptr<Allocation>> HipProvider::allocate(const AllocateRequest& request) {
  auto placed = place(request);
  if (!placed) return tl::unexpected(std::move(placed.error()));
  return allocate_on(std::move(placed->known),
                     {request.bytes, request.chunk_bytes, std::move(placed->access), request.reserve_bytes});
}

Result<std::unique_ptr<Allocation>> HipProvider::adopt(const AdoptRequest& request) {
  return request.ptr != nullptr ? adopt_pointer(request) : adopt_handles(request);
}

Result<std::unique_ptr<ImportedRange>> HipProvider::begin_import(const RangeRequest& request) {
  if (auto sound = check_reserve(request); !sound) return tl::unexpected(std::move(sound.error()));
  const auto now = here();
  if (!now) return tl::unexpected(now.error());
  if (request.mapping == Mapping::kExternal)
    return begin_external(now->runtime, Quirks(now->runtime->version()), now->devices, request);
  const Device* owner = now->devices.find(request.owner);
  const auto users = users_of_import(*now, request, owner);
  if (!users) return tl::unexpected(users.error());
  // A hidden owner: the runtime is tried out on one of our own.
  const Device* tried = owner != nullptr ? owner : now->devices.at((*users)[0]);
  const Known known = known_of(*now, *tried);
  auto access = access_for_import(*known.context, request.owner, *users, request.host);
  if (!access) return tl::unexpected(std::move(access.error()));
  if (auto able = demand(*now->runtime, known.report, Ability::kImport); !able) {
    if (external_is_possible(*now->runtime, request.handle_kind))
      able.error().message += "; HB_MAP_EXTERNAL maps one chunk at a time, for the current device alone";
    return tl::unexpected(std::move(able.error()));
  }
  if (request.host == HostAccess::kRequire)
    if (auto able = demand(*now->runtime, known.report, Ability::kHostOnImport); !able)
      return tl::unexpected(std::move(able.error()));
  access->writable = request.writable;
  ImportSpec spec;
  spec.access = std::move(*access);
  spec.owner = request.owner;
  spec.bytes = request.object_bytes;
  spec.chunks = request.chunks;
  spec.offset = request.first_offset;
  spec.address = request.address;
  if (request.reserve_bytes != 0) spec.reserve_bytes = request.first_offset + request.reserve_bytes;
  return begin_import_of(known.context, spec, request);
}

}  // namespace hb::client::hip
