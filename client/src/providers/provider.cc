// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "providers/provider.h"

#include <fcntl.h>

#include "hipbroker/hipbroker.h"
#include "providers/hip/mapped_range.h"
#include "providers/hip/provider.h"
#include "providers/host.h"

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

std::uint64_t failed_frees() { return hip::teardown_failures(); }

}  // namespace hb::client
