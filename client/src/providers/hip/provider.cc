// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "providers/hip/provider.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <utility>

#include "fd_room.h"
#include "handle_kind.h"
#include "hipbroker/hipbroker.h"
#include "per_process.h"
#include "providers/hip/driver.h"
#include "providers/hip/external.h"
#include "providers/hip/foreign.h"
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

class HipAllocation final : public Allocation {
 public:
  HipAllocation(Known known, std::unique_ptr<MappedRange> range)
      : known_(std::move(known)), range_(std::move(range)) {}

  [[nodiscard]] void* ptr() const override { return range_->base(); }
  [[nodiscard]] std::uint64_t bytes() const override { return range_->mapped_bytes(); }
  [[nodiscard]] std::uint64_t chunk_bytes() const override { return range_->chunk_bytes(0); }
  [[nodiscard]] std::size_t chunk_count() const override { return range_->size(); }
  [[nodiscard]] ChunkRef chunk(std::size_t index) const override {
    return {{}, 0, range_->chunk_bytes(index), range_->chunk_bytes(index), index};
  }
  [[nodiscard]] Result<UniqueFd> export_chunk(std::size_t index) const override {
    auto made = hip::export_chunk(*known_.context, *range_, index);
    if (made && kind_.load(std::memory_order_relaxed) == 0)
      kind_.store(kind_of(*made), std::memory_order_relaxed);
    return made;
  }
  [[nodiscard]] std::uint32_t handle_kind() const override { return kind_.load(std::memory_order_relaxed); }
  [[nodiscard]] const DeviceId& device() const override { return known_.device.id; }
  [[nodiscard]] int ordinal() const override { return known_.device.ordinal; }
  [[nodiscard]] std::vector<PeerGrant> peers() const override {
    return peer_grants(known_.context->devices, {}, range_->access());
  }
  [[nodiscard]] bool host_granted() const override { return range_->host_granted(); }
  // The range knows whose process it is.
  void forget_descriptors() noexcept override {}

 private:
  Known known_;
  std::unique_ptr<MappedRange> range_;
  mutable std::atomic<std::uint32_t> kind_{0};
};

class HipRange final : public ImportedRange {
 public:
  HipRange(ContextPtr context, Import import, const RangeRequest& request)
      : context_(std::move(context)),
        import_(std::move(import)),
        kind_(request.handle_kind),
        exporter_peers_(request.exporter_peers) {}

  Result<void> map(const Part& part) override {
    auto bytes = object_bytes(part);
    if (!bytes) return tl::unexpected(std::move(bytes.error()));
    // Allocations are mapped whole, so only the first may begin and only the last may end inside of one.
    if (part.at != 0 && (part.object.offset != 0 || !ended_at_its_end_))
      return fail(
          chunk_error(HB_UNSUPPORTED, part,
                      "does not follow the chunk before it: GPU memory is mapped in whole allocations, and a "
                      "part of one lies between them; acquire the descriptors instead"));
    ended_at_its_end_ = part.object.offset + part.object.bytes == *bytes;
    ImportChunk chunk;
    chunk.descriptor = UniqueFd(::fcntl(part.object.fd.get(), F_DUPFD_CLOEXEC, 3));
    if (!chunk.descriptor) {
      Error error = no_fds(fd_room(), 1, "chunk " + std::to_string(part.chunk));
      error.chunk = static_cast<std::int64_t>(part.chunk);
      return fail(std::move(error));
    }
    chunk.bytes = *bytes;
    chunk.handle_kind = kind_;
    chunk.number = static_cast<std::int64_t>(part.chunk);
    return import_.add({&chunk, 1});
  }
  [[nodiscard]] void* ptr() const override { return import_.ptr(); }
  [[nodiscard]] Span mapped() const override {
    return {import_.range().base(), import_.range().mapped_bytes()};
  }
  [[nodiscard]] bool host_granted() const override { return import_.range().host_granted(); }
  [[nodiscard]] int ordinal() const override { return import_.range().access().owner; }
  [[nodiscard]] std::vector<PeerGrant> peers() const override {
    return peer_grants(context_->devices, exporter_peers_, import_.range().access());
  }

 private:
  static Error chunk_error(hb_status status, const Part& part, const std::string& reason) {
    Error error;
    error.status = status;
    error.chunk = static_cast<std::int64_t>(part.chunk);
    error.message = "chunk " + std::to_string(part.chunk) + " " + reason;
    return error;
  }

  // The kernel's word where it has one; what the exporter declared for descriptors of a driver's own kind,
  // of which lseek means nothing.
  Result<std::uint64_t> object_bytes(const Part& part) const {
    if (kind_ == HB_KIND_DRIVER) {
      if (part.whole_bytes != 0) return part.whole_bytes;
      return fail(chunk_error(HB_UNSUPPORTED, part,
                              "is a descriptor of the driver's own, whose size only its exporter knows, and "
                              "the daemon is too old to pass that on: update hipbrokerd"));
    }
    const off_t size = ::lseek(part.object.fd.get(), 0, SEEK_END);
    if (size < 0) {
      Error error = system_error(SysError::last("lseek"),
                                 "chunk " + std::to_string(part.chunk) + ": its size", HB_BAD_HANDLE);
      error.chunk = static_cast<std::int64_t>(part.chunk);
      return fail(std::move(error));
    }
    const auto bytes = static_cast<std::uint64_t>(size);
    const std::uint64_t wanted = part.whole_bytes != 0 ? part.whole_bytes : part.object_bytes;
    if (bytes == wanted || (part.whole_bytes == 0 && bytes > wanted)) return bytes;
    Error error = chunk_error(
        HB_RANGE, part,
        "needs an object of " + std::to_string(wanted) + " bytes and got one of " + std::to_string(bytes));
    error.what = "bytes";
    error.used = wanted;
    error.limit = bytes;
    return fail(std::move(error));
  }

  ContextPtr context_;
  Import import_;
  std::uint32_t kind_;
  std::vector<DeviceId> exporter_peers_;
  bool ended_at_its_end_ = true;
};

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
  auto range =
      hip::allocate(placed->known.context, {request.bytes, request.chunk_bytes, std::move(placed->access)});
  if (!range) return tl::unexpected(std::move(range.error()));
  return std::make_unique<HipAllocation>(std::move(placed->known), std::move(*range));
}

Result<std::unique_ptr<Allocation>> HipProvider::adopt(const AdoptRequest& request) {
  return request.ptr != nullptr ? adopt_pointer(request) : adopt_handles(request);
}

Result<std::unique_ptr<ImportedRange>> HipProvider::begin_import(const RangeRequest& request) {
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
  auto import = Import::begin(known.context, spec);
  if (!import) return tl::unexpected(std::move(import.error()));
  return std::make_unique<HipRange>(known.context, std::move(*import), request);
}

}  // namespace hb::client::hip
