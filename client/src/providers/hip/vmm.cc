// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "providers/hip/vmm.h"

#include <sys/types.h>
#include <unistd.h>

#include <optional>

#include "fd_room.h"
#include "hipbroker/hipbroker.h"
#include "providers/hip/driver.h"
#include "wire/limits.h"

namespace hb::client::hip {
namespace {

// Kept free while descriptors are opened by the runtime: its own needs and the program's.
constexpr std::uint64_t kSpareDescriptors = 8;

std::uint64_t round_up(std::uint64_t value, std::uint64_t unit) { return (value + unit - 1) / unit * unit; }

MemAllocationProp exportable_on(int device) {
  MemAllocationProp prop{};
  prop.type = kAllocationPinned;
  // Exactly this type: together with another one creation fails, and without it nothing can be exported.
  prop.requested_handle_type = kHandleFd;
  prop.location = {kLocationDevice, device};
  return prop;
}

Error scope_error(const Context& context, const DriverScope& scope, const std::string& doing) {
  return driver_error(context.hip(), scope.failed_call(), scope.code(), doing, HB_DEVICE);
}

// A runtime that keeps a descriptor a handle says OutOfMemory at the limit: it is named before.
Result<void> check_room(bool costs, std::uint64_t count, const std::string& doing) {
  if (!costs) return {};
  const FdRoom room = fd_room();
  if (room.free() >= count + kSpareDescriptors) return {};
  Error error = no_fds(room, room.open + count + kSpareDescriptors, doing);
  error.message += "; this HIP runtime keeps one descriptor for each chunk";
  return fail(std::move(error));
}

Result<std::size_t> granularity_inside(const Context& context, int device) {
  const MemAllocationProp prop = exportable_on(device);
  std::size_t bytes = 0;
  const HipError code = context.hip().hipMemGetAllocationGranularity(&bytes, &prop, kGranularityRecommended);
  if (code != kSuccess)
    return fail(driver_error(context.hip(), "hipMemGetAllocationGranularity", code,
                             "device " + std::to_string(device)));
  return bytes < kLargePage ? kLargePage : static_cast<std::size_t>(round_up(bytes, kLargePage));
}

// Both causes that the runtime tells alike.
void add_causes(Error& error, const DeviceId& owner, bool owner_visible, std::uint32_t kind) {
  if (error.status != HB_SYSTEM) return;  // no memory, no descriptors, a capture: known
  error.status = owner_visible ? HB_BAD_HANDLE : HB_DEVICE;
  error.message += std::string("; either the descriptor (") +
                   (kind == HB_KIND_DMABUF ? "dma-buf" : "handle kind " + std::to_string(kind)) +
                   ") is not of the type this runtime imports, or its owner " + owner.text() +
                   " is not usable here" + (owner_visible ? "" : ": this process does not see it");
}

}  // namespace

Result<std::size_t> granularity(const Context& context, int device) {
  const DriverScope scope(context.hip(), DriverScope::kAnyDevice);
  if (scope.failed_call() != nullptr) return fail(scope_error(context, scope, "granularity"));
  return granularity_inside(context, device);
}

namespace {

// Inside a DriverScope. What a failure has left is the caller's to cut, outside.
Result<void> fill(const ContextPtr& context, MappedRange& range, std::span<const std::uint64_t> sizes,
                  const std::string& doing) {
  if (auto room = check_room(context->quirks.on(Quirk::kDescriptorPerCreate), sizes.size(), doing); !room)
    return room;
  const int owner = range.access().owner;
  const MemAllocationProp prop = exportable_on(owner);
  for (const std::uint64_t bytes : sizes) {
    const auto number = static_cast<std::int64_t>(range.size());
    MemHandle handle = nullptr;
    const HipError code = context->hip().hipMemCreate(&handle, static_cast<std::size_t>(bytes), &prop, 0);
    if (code != kSuccess) {
      Error error = driver_error(context->hip(), "hipMemCreate", code,
                                 "chunk " + std::to_string(number) + " of " + std::to_string(bytes) +
                                     " bytes on " + context->devices.at(owner)->id.text());
      error.chunk = number;
      return fail(std::move(error));
    }
    if (auto added = range.add({context, handle}, static_cast<std::size_t>(bytes), number); !added)
      return added;
  }
  return {};
}

Result<void> check_bytes(const char* what, std::uint64_t bytes) {
  if (bytes <= limits::kExportBytes) return {};
  return fail(limit_error(HB_RANGE, what, bytes, limits::kExportBytes,
                          std::string(what) + " is " + std::to_string(bytes) + "; an export holds at most " +
                              std::to_string(limits::kExportBytes)));
}

}  // namespace

Result<std::unique_ptr<MappedRange>> allocate(const ContextPtr& context, const AllocateSpec& spec) {
  const Device* device = context->devices.at(spec.access.owner);
  if (device == nullptr)
    return fail(HB_DEVICE, "no device " + std::to_string(spec.access.owner) + " in this process");
  if (spec.bytes == 0) return fail(HB_INVALID, "bytes is 0; at least 1 byte is allocated");
  if (auto sound = check_bytes("bytes", spec.bytes); !sound) return tl::unexpected(std::move(sound.error()));
  if (auto sound = check_bytes("reserve_bytes", spec.reserve_bytes); !sound)
    return tl::unexpected(std::move(sound.error()));
  if (auto able = check_host_access(*context, spec.access); !able) return tl::unexpected(able.error());

  std::unique_ptr<MappedRange> range;  // outlives the scope: it must not be torn down inside
  const DriverScope scope(context->hip(), spec.access.owner);
  const std::string doing = "allocating on " + device->id.text();
  if (scope.failed_call() != nullptr) return fail(scope_error(*context, scope, doing));
  auto unit = granularity_inside(*context, spec.access.owner);
  if (!unit) return tl::unexpected(std::move(unit.error()));
  const std::uint64_t bytes = round_up(spec.bytes, *unit);
  const std::uint64_t chunk_bytes = spec.chunk_bytes == 0 ? bytes : round_up(spec.chunk_bytes, *unit);
  const std::uint64_t step = spec.chunk_bytes == 0 ? *unit : chunk_bytes;
  const std::uint64_t reserve =
      spec.reserve_bytes <= bytes ? bytes : bytes + round_up(spec.reserve_bytes - bytes, step);
  std::vector<std::uint64_t> sizes;
  for (std::uint64_t at = 0; at < bytes; at += chunk_bytes)
    sizes.push_back(bytes - at < chunk_bytes ? bytes - at : chunk_bytes);
  auto reserved =
      MappedRange::reserve(context, spec.access, {static_cast<std::size_t>(reserve), *unit, nullptr});
  if (!reserved) return tl::unexpected(std::move(reserved.error()));
  range = std::move(*reserved);
  if (auto filled = fill(context, *range, sizes, doing); !filled)
    return tl::unexpected(std::move(filled.error()));
  return range;
}

Result<void> extend(const ContextPtr& context, MappedRange& range, std::span<const std::uint64_t> sizes) {
  if (!range.is_here())
    return fail(HB_FORKED, "this memory is of the parent process, which alone changes it");
  const std::size_t before = range.size();
  const std::string doing = "adding memory on " + context->devices.at(range.access().owner)->id.text();
  const auto done = [&]() -> Result<void> {
    const DriverScope scope(context->hip(), range.access().owner);
    if (scope.failed_call() != nullptr) return fail(scope_error(*context, scope, doing));
    return fill(context, range, sizes, doing);
  }();
  if (!done) range.cut(before);
  return done;
}

Result<UniqueFd> export_chunk(const Context& context, MappedRange& range, std::size_t index) {
  if (range.access().imported)
    return fail(
        HB_NOT_SHAREABLE,
        "this memory came from another process and is not exported again: pass the key on, or let the "
        "owner export it for the new reader, or copy it into memory of your own");
  if (!range.is_here())
    return fail(HB_FORKED, "this memory is of the parent process, which alone can export it");
  const std::string doing = "exporting chunk " + std::to_string(index);
  const DriverScope scope(context.hip(), range.access().owner);
  Error error;
  if (scope.failed_call() != nullptr) {
    error = scope_error(context, scope, doing);
  } else {
    auto descriptor = range.handle(index).export_descriptor(doing);
    if (descriptor) return descriptor;
    error = std::move(descriptor.error());
  }
  error.chunk = static_cast<std::int64_t>(index);
  return fail(std::move(error));
}

Result<Import> Import::begin(const ContextPtr& context, const ImportSpec& spec) {
  if (auto able = check_host_access(*context, spec.access); !able) return tl::unexpected(able.error());
  if (spec.access.device() == Access::kHidden)
    return fail(context->devices.not_visible(spec.owner, "importing"));
  std::unique_ptr<MappedRange> range;
  const DriverScope scope(context->hip(), spec.access.device());
  const std::string doing = "importing memory of " + spec.owner.text();
  if (scope.failed_call() != nullptr) return fail(scope_error(*context, scope, doing));
  auto unit = granularity_inside(*context, spec.access.device());
  if (!unit) return tl::unexpected(std::move(unit.error()));
  const auto wished = reinterpret_cast<std::uintptr_t>(spec.address);
  if (wished != 0 && wished % *unit != spec.offset % *unit)
    return fail(limit_error(HB_RANGE, "address", wished % *unit, spec.offset % *unit,
                            "the wished address is " + std::to_string(wished % *unit) +
                                " bytes past a multiple of the granularity " + std::to_string(*unit) +
                                ", the first byte asked for " + std::to_string(spec.offset % *unit) +
                                " past the start of its chunk's: they must agree"));
  // The whole chunk would begin at or below address 0, and a wish for 0 is none.
  if (wished != 0 && wished <= spec.offset)
    return fail(HB_ADDRESS, "the wished address " + std::to_string(wished) + " leaves no room for the " +
                                std::to_string(spec.offset) +
                                " bytes of the chunk before the first byte asked for");
  if (auto room = check_room(context->quirks.on(Quirk::kDescriptorPerImport), spec.chunks, doing); !room)
    return tl::unexpected(std::move(room.error()));
  char* const address = spec.address == nullptr ? nullptr : static_cast<char*>(spec.address) - spec.offset;
  const std::uint64_t bytes = spec.reserve_bytes > spec.bytes ? spec.reserve_bytes : spec.bytes;
  auto reserved = MappedRange::reserve(context, spec.access,
                                       {static_cast<std::size_t>(round_up(bytes, *unit)), *unit, address});
  if (!reserved) return tl::unexpected(std::move(reserved.error()));
  return Import(context, spec.owner, std::move(*reserved), spec.offset);
}

Result<void> Import::add(std::span<ImportChunk> chunks) {
  const std::size_t before = range_->size();
  auto added = add_inside(chunks);
  if (!added) range_->cut(before);
  return added;
}

Result<void> Import::add_inside(std::span<ImportChunk> chunks) {
  const DriverScope scope(context_->hip(), range_->access().device());
  if (scope.failed_call() != nullptr) {
    const std::int64_t first = chunks.empty() ? -1 : chunks[0].number;
    Error error = scope_error(*context_, scope, "chunk " + std::to_string(first));
    error.chunk = first;
    return fail(std::move(error));
  }
  for (ImportChunk& chunk : chunks) {
    auto added = add_one(chunk);
    // Only now: some runtimes look at the number again when access is granted.
    chunk.descriptor.reset();
    if (added) continue;
    added.error().chunk = chunk.number;
    return added;
  }
  return {};
}

Result<OwnedHandle> Import::import_one(ImportChunk& chunk) {
  const HipTable& hip = context_->hip();
  const std::string doing = "chunk " + std::to_string(chunk.number);
  // Descriptor 0 cannot be imported by value, and 1 and 2 are the program's.
  if (chunk.descriptor && chunk.descriptor.get() < 3) chunk.descriptor = chunk.descriptor.duplicate();
  if (!chunk.descriptor) return fail(HB_NO_FDS, doing + ": no descriptor for it");
  // The driver never compares sizes. Descriptors of its own kind have none to ask for.
  const off_t size = ::lseek(chunk.descriptor.get(), 0, SEEK_END);
  if (chunk.handle_kind != HB_KIND_DRIVER && size < 0)
    return fail(system_error(SysError::last("lseek"), doing + ": its size", HB_BAD_HANDLE));
  if (chunk.handle_kind != HB_KIND_DRIVER && static_cast<std::uint64_t>(size) != chunk.bytes)
    return fail(limit_error(HB_RANGE, "bytes", chunk.bytes, static_cast<std::uint64_t>(size),
                            doing + " was announced with " + std::to_string(chunk.bytes) +
                                " bytes and its object has " + std::to_string(size)));
  int number = chunk.descriptor.get();
  void* const os_handle = context_->quirks.on(Quirk::kDescriptorByPointer)
                              ? static_cast<void*>(&number)
                              : reinterpret_cast<void*>(static_cast<std::uintptr_t>(number));
  const bool owner_visible = range_->access().owner != Access::kHidden;
  MemHandle handle = nullptr;
  if (const HipError code = hip.hipMemImportFromShareableHandle(&handle, os_handle, kHandleFd);
      code != kSuccess) {
    Error error = driver_error(hip, "hipMemImportFromShareableHandle", code, doing);
    add_causes(error, owner_, owner_visible, chunk.handle_kind);
    return fail(std::move(error));
  }
  return OwnedHandle(context_, handle);
}

Result<void> Import::add_one(ImportChunk& chunk) {
  auto handle = import_one(chunk);
  if (!handle) return tl::unexpected(std::move(handle.error()));
  auto added = range_->add(std::move(*handle), static_cast<std::size_t>(chunk.bytes), chunk.number);
  if (!added && context_->quirks.on(Quirk::kImportChecksAtGrant))
    add_causes(added.error(), owner_, range_->access().owner != Access::kHidden, chunk.handle_kind);
  return added;
}

Result<void> Import::replace(std::size_t index, ImportChunk chunk) {
  const auto failed = [&](Error error) {
    error.chunk = chunk.number;
    return fail(std::move(error));
  };
  std::optional<OwnedHandle> fresh;
  {
    const DriverScope scope(context_->hip(), range_->access().device());
    if (scope.failed_call() != nullptr)
      return failed(scope_error(*context_, scope, "chunk " + std::to_string(chunk.number)));
    auto handle = import_one(chunk);
    if (!handle) return failed(std::move(handle.error()));
    fresh.emplace(std::move(*handle));
  }
  auto done = range_->replace(index, std::move(*fresh), chunk.number);
  if (!done && context_->quirks.on(Quirk::kImportChecksAtGrant))
    add_causes(done.error(), owner_, range_->access().owner != Access::kHidden, chunk.handle_kind);
  return done;
}

}  // namespace hb::client::hip
