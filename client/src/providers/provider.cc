// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "providers/provider.h"

#include <fcntl.h>

#include "hipbroker/hipbroker.h"
#include "providers/hip/owned_handle.h"
#include "providers/hip/provider.h"
#include "providers/host.h"
#include "wire/limits.h"

namespace hb::client {
namespace {

HostProvider& host() {
  static auto* provider = new HostProvider;  // never destroyed: imports may outlive static destructors
  return *provider;
}

hip::HipProvider& gpu() {
  static auto* provider = new hip::HipProvider;  // as above. It loads nothing before it is used
  return *provider;
}

}  // namespace

std::string DeviceId::text() const {
  std::string out = uuid.empty() ? "the GPU" : uuid;
  out += " at " + (pci.empty() ? std::string("an unknown address") : pci);
  if (partition != 0) out += "/" + std::to_string(partition);
  return out;
}

Result<UniqueFd> Allocation::export_chunk(std::size_t index) const {
  UniqueFd made(::fcntl(chunk(index).fd.get(), F_DUPFD_CLOEXEC, 3));
  if (made) return made;
  const SysError cause = SysError::last("fcntl(F_DUPFD_CLOEXEC)");
  return fail(
      system_error(cause, "chunk " + std::to_string(index), cause.code == EMFILE ? HB_NO_FDS : HB_SYSTEM));
}

const DeviceId& Allocation::device() const {
  static const auto* none = new DeviceId;
  return *none;
}

Result<void> Allocation::grow(std::uint64_t) {
  return fail(HB_UNSUPPORTED, "this memory is its maker's: only memory of the library's own grows");
}

Result<void> Allocation::wake() {
  return fail(HB_UNSUPPORTED, "this memory is its maker's: only memory of the library's own sleeps");
}

Result<void> Allocation::check_growth(std::uint64_t bytes, std::uint64_t step) const {
  if (bytes == 0) return fail(HB_INVALID, "bytes is 0; at least 1 byte is added");
  if (asleep()) return fail(HB_SUSPENDED, "this memory is asleep; wake it before it grows");
  const std::uint64_t have = this->bytes();
  const std::uint64_t room = reserved_bytes() - have;
  const std::uint64_t chunks = bytes / step + (bytes % step == 0 ? 0 : 1);
  if (chunks <= room / step) return {};
  return fail(limit_error(
      HB_RANGE, "reserve_bytes", bytes > UINT64_MAX - have ? UINT64_MAX : have + bytes, reserved_bytes(),
      std::to_string(bytes) + " bytes, in pieces of " + std::to_string(step) + ", do not fit behind the " +
          std::to_string(have) + " there are: " + std::to_string(reserved_bytes()) +
          " are reserved. Ask for more reserve_bytes when it is allocated"));
}

Result<void> check_reserve(const RangeRequest& request) {
  if (request.reserve_bytes <= limits::kExportBytes) return {};
  return fail(limit_error(HB_RANGE, "reserve_bytes", request.reserve_bytes, limits::kExportBytes,
                          "addresses for " + std::to_string(request.reserve_bytes) +
                              " bytes are asked for; an export holds at most " +
                              std::to_string(limits::kExportBytes)));
}

Result<std::unique_ptr<Allocation>> Provider::adopt(const AdoptRequest&) {
  return fail(HB_UNSUPPORTED, "this provider exports memory of its own only");
}

Provider* provider(std::uint32_t number) {
  if (number == HB_PROVIDER_HOST) return &host();
  return number == HB_PROVIDER_HIP ? &gpu() : nullptr;
}

Provider* provider_of(std::uint32_t handle_kind, const DeviceId& device) {
  if (!device.empty()) return &gpu();
  return handle_kind == HB_KIND_MEMFD || handle_kind == HB_KIND_DMABUF ? &host() : nullptr;
}

std::uint64_t failed_frees() { return hip::teardown_failures() + host_teardown_failures(); }

}  // namespace hb::client
