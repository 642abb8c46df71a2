// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "providers/hip/foreign.h"

#include <fcntl.h>
#include <unistd.h>

#include <optional>
#include <utility>

#include "fd_room.h"
#include "handle_kind.h"
#include "hipbroker/hipbroker.h"
#include "providers/hip/driver.h"

namespace hb::client::hip {
namespace {

std::string chunk_name(std::size_t index) { return "chunk " + std::to_string(index); }

tl::unexpected<Error> fail_chunk(Error error, std::size_t index) {
  error.chunk = static_cast<std::int64_t>(index);
  return fail(std::move(error));
}
tl::unexpected<Error> fail_chunk(hb_status status, std::string message, std::size_t index) {
  return fail_chunk(fail(status, std::move(message)).value(), index);
}

// Codes that speak of the memory asked about, and not of the state of the process or the device.
bool is_about_memory(HipError code) {
  constexpr HipError kInvalidDevicePointer = 17;
  return code == kInvalidValue || code == kInvalidDevicePointer || code == kNotFound || code == kNotSupported;
}

Error export_error(const HipTable& hip, const char* call, HipError code, const std::string& doing) {
  Error error = driver_error(hip, call, code, doing);
  if (!is_about_memory(code)) return error;
  error.status = HB_NOT_SHAREABLE;
  error.message +=
      "; either it came from another process (pass its key on), or it was created without the descriptor "
      "type: "
      "create it with hipMemHandleTypePosixFileDescriptor";
  return error;
}

// Where each handle's memory is, as its maker asked for it.
struct Asked {
  std::optional<MemAllocationProp> prop;
};
Result<std::vector<Asked>> ask_properties(const Here& here, const AdoptRequest& request) {
  const HipTable& hip = here.runtime->hip();
  std::vector<Asked> out(request.handles.size());
  if (hip.hipMemGetAllocationPropertiesFromHandle == nullptr) return out;
  const DriverScope scope(hip, DriverScope::kAnyDevice);
  if (scope.failed_call() != nullptr)
    return fail(driver_error(hip, scope.failed_call(), scope.code(), "exporting by handles", HB_DEVICE));
  for (std::size_t i = 0; i < out.size(); ++i) {
    MemAllocationProp prop{};
    const HipError code =
        hip.hipMemGetAllocationPropertiesFromHandle(&prop, static_cast<MemHandle>(request.handles[i].handle));
    if (code == kSuccess) {
      out[i].prop = prop;
    } else if (request.device.empty()) {
      return fail_chunk(driver_error(hip, "hipMemGetAllocationPropertiesFromHandle", code, chunk_name(i),
                                     code == kInvalidValue ? HB_INVALID : HB_SYSTEM),
                        i);
    }
  }
  return out;
}

Result<const Device*> device_of(const Here& here, const AdoptRequest& request,
                                const std::vector<Asked>& asked) {
  const Device* device = nullptr;
  if (!request.device.empty()) {
    device = here.devices.find(request.device);
    if (device == nullptr) return fail(here.devices.not_visible(request.device, "exporting by handles"));
  }
  for (std::size_t i = 0; i < asked.size(); ++i) {
    if (!asked[i].prop) continue;
    const MemAllocationProp& prop = *asked[i].prop;
    if (prop.location.type != kLocationDevice)
      return fail_chunk(HB_NOT_SHAREABLE,
                        chunk_name(i) +
                            " is memory of the CPU (hipMemCreate at a Host location); host memory is "
                            "shared as HB_PROVIDER_HOST or by its descriptors",
                        i);
    if ((prop.requested_handle_type & kHandleFd) == 0)
      return fail_chunk(not_exportable(chunk_name(i), "it was created without the descriptor type"), i);
    if (!request.device.empty()) continue;  // the caller's word: of some runtimes' answers it is the better
    const Device* const own = here.devices.at(prop.location.id);
    if (own == nullptr)
      return fail_chunk(HB_DEVICE,
                        chunk_name(i) + " is on device " + std::to_string(prop.location.id) +
                            ", which this process does not see",
                        i);
    if (device != nullptr && own != device)
      return fail_chunk(HB_MIXED,
                        chunk_name(i) + " is on " + own->id.text() + ", the chunks before it on " +
                            device->id.text() + "; an export has one device: export each device's apart",
                        i);
    device = own;
  }
  if (device == nullptr)
    return fail(HB_INVALID, here.runtime->name() +
                                " does not tell which GPU a handle's memory is on: name it in `device`");
  return device;
}

class ForeignHandles final : public ForeignAllocation {
 public:
  ForeignHandles(Known known, std::span<const ForeignHandle> handles, std::vector<Piece> pieces)
      : ForeignAllocation(std::move(known), nullptr, std::move(pieces)),
        handles_(handles.begin(), handles.end()) {}

 protected:
  Result<UniqueFd> make(std::size_t index, const std::string& doing) const override {
    const ForeignHandle& handle = handles_[index];
    const Context& context = *known().context;
    // A number that every export of the handle answers would stay open: nobody knows here when the handle
    // goes, and the program may have exported it, too. Its addresses give a number of their own.
    if (context.quirks.on(Quirk::kSharedExportDescriptor) && handle.base != nullptr &&
        exports_address_ranges(context)) {
      auto own = export_address_range(context, handle.base, handle.bytes, doing);
      if (own || own.error().status != HB_NOT_SHAREABLE) return own;
    }
    return export_handle(context, static_cast<MemHandle>(handle.handle), doing);
  }

 private:
  std::vector<ForeignHandle> handles_;
};

}  // namespace

Error not_exportable(const std::string& doing, const std::string& why) {
  Error error;
  error.status = HB_NOT_SHAREABLE;
  error.message =
      doing + ": " + why +
      " and gives no handle to others: create it with hipMemHandleTypePosixFileDescriptor, or export "
      "it by ptr (HIP 7.12 or newer)";
  return error;
}

Known known_already(const Here& here, const Device& device) {
  return known_by(here, device, probe_known(*here.runtime, device, sysfs_root()));
}

ForeignAllocation::ForeignAllocation(Known known, const void* first, std::vector<Piece> pieces)
    : known_(std::move(known)), first_(first), pieces_(std::move(pieces)) {
  for (const Piece& piece : pieces_) bytes_ += piece.bytes;
}

Result<UniqueFd> ForeignAllocation::export_chunk(std::size_t index) const {
  const std::string doing = chunk_name(index);
  Result<UniqueFd> made;
  {
    const DriverScope scope(known_.context->hip(), known_.device.ordinal);
    if (scope.failed_call() != nullptr)
      return fail_chunk(
          driver_error(known_.context->hip(), scope.failed_call(), scope.code(), doing, HB_DEVICE), index);
    made = make(index, doing);
  }
  if (!made) return fail_chunk(std::move(made.error()), index);
  const std::uint32_t kind = kind_of(*made);
  const off_t size = ::lseek(made->get(), 0, SEEK_END);
  if (size < 0 && kind != HB_KIND_DRIVER)
    return fail_chunk(system_error(SysError::last("lseek"), doing + ": its size", HB_BAD_HANDLE), index);
  const std::uint64_t wanted = pieces_[index].object_bytes;
  if (size >= 0 && static_cast<std::uint64_t>(size) != wanted)
    return fail_chunk(
        limit_error(HB_RANGE, "bytes", wanted, static_cast<std::uint64_t>(size),
                    doing + ": " + std::to_string(wanted) + " bytes are named, its allocation has " +
                        std::to_string(size) + "; importers map it whole, so both must agree"),
        index);
  std::uint32_t none = 0;
  kind_.compare_exchange_strong(none, kind, std::memory_order_relaxed);
  return made;
}

Result<UniqueFd> take_number(UniqueFd made, const std::string& doing) {
  if (made.get() >= 3 && ::fcntl(made.get(), F_SETFD, FD_CLOEXEC) == 0) return made;
  UniqueFd moved = made.duplicate();
  if (moved) return moved;
  return fail(duplicate_error(SysError::last("fcntl(F_DUPFD_CLOEXEC)"), doing));
}

Result<UniqueFd> export_handle(const Context& context, MemHandle handle, const std::string& doing) {
  int number = -1;
  const HipError code = context.hip().hipMemExportToShareableHandle(&number, handle, kHandleFd, 0);
  if (code != kSuccess)
    return fail(export_error(context.hip(), "hipMemExportToShareableHandle", code, doing));
  if (!context.quirks.on(Quirk::kSharedExportDescriptor)) return take_number(UniqueFd(number), doing);
  // The runtime's, and perhaps the program's: only looked at.
  UniqueFd own(::fcntl(number, F_DUPFD_CLOEXEC, 3));
  if (own) return own;
  return fail(duplicate_error(SysError::last("fcntl(F_DUPFD_CLOEXEC)"), doing));
}

bool exports_address_ranges(const Context& context) {
  return context.quirks.on(Quirk::kAddressRangeExport) &&
         context.hip().hipMemGetHandleForAddressRange != nullptr;
}

Result<UniqueFd> export_address_range(const Context& context, const void* base, std::uint64_t bytes,
                                      const std::string& doing) {
  int number = -1;
  const HipError code = context.hip().hipMemGetHandleForAddressRange(
      &number, const_cast<void*>(base), static_cast<std::size_t>(bytes), kRangeDmaBuf, 0);
  if (code == kSuccess) return take_number(UniqueFd(number), doing);
  return fail(export_error(context.hip(), "hipMemGetHandleForAddressRange", code, doing));
}

Result<std::unique_ptr<Allocation>> adopt_handles(const AdoptRequest& request) {
  std::vector<ForeignAllocation::Piece> pieces;
  for (const ForeignHandle& handle : request.handles) {
    if (handle.handle == nullptr)
      return fail_chunk(HB_INVALID, chunk_name(pieces.size()) + " has no handle (NULL)", pieces.size());
    pieces.push_back({handle.bytes, handle.bytes});
  }
  const auto now = here(Which::kLoaded);
  if (!now && now.error().status == HB_NOT_FOUND)
    return fail(HB_UNSUPPORTED, "handles are of a HIP runtime: " + now.error().message);
  if (!now) return tl::unexpected(now.error());
  const auto asked = ask_properties(*now, request);
  if (!asked) return tl::unexpected(asked.error());
  const auto device = device_of(*now, request, *asked);
  if (!device) return tl::unexpected(device.error());
  Known known = known_of(*now, **device);
  if (auto able = demand(*now->runtime, known.report, Ability::kExport); !able)
    return tl::unexpected(std::move(able.error()));
  return std::make_unique<ForeignHandles>(std::move(known), request.handles, std::move(pieces));
}

}  // namespace hb::client::hip
