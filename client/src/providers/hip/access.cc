// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "providers/hip/access.h"

#include <time.h>

#include <algorithm>
#include <cstdlib>

#include "providers/hip/driver.h"

namespace hb::client::hip {
namespace {

// Some gfx942 systems refuse a grant and give it a moment later (ROCm/mori, cco_init.cpp).
constexpr int kTries = 4;
constexpr long kFirstPauseNs = 1'000'000;

std::vector<int> all_visible(const Context& context) {
  std::vector<int> out;
  for (const Device& device : context.devices.devices()) out.push_back(device.ordinal);
  return out;
}

// The whole descriptor list in one call, which the runtime takes in array order.
HipError set_access(const Context& context, const std::vector<MemAccessDesc>& list, char* base, char* at,
                    std::size_t bytes) {
  const HipTable& hip = context.hip();
  timespec pause{0, kFirstPauseNs};
  for (int attempt = 1;; ++attempt) {
    HipError code = hip.hipMemSetAccess(at, bytes, list.data(), list.size());
    if (code == kInvalidValue && at != base && context.quirks.on(Quirk::kTailGrantIsInvalid))
      code = hip.hipMemSetAccess(base, static_cast<std::size_t>(at - base) + bytes, list.data(), list.size());
    const bool again = code == kInvalidValue || code == kOutOfMemory;
    if (!again || attempt == kTries) return code;
    ::nanosleep(&pause, nullptr);
    pause.tv_nsec *= 2;
  }
}

// Hidden from HIP alone, or from ROCr too? Only the latter keeps ROCr from finding the owner.
bool hidden_from_rocr() {
  const char* list = std::getenv("ROCR_VISIBLE_DEVICES");
  return list != nullptr && *list != '\0';
}

// Why a grant to the CPU was refused, as far as it is known.
const char* why_no_host(const Context& context, const Access& access) {
  // By the table: what the probe saw has overruled the quirks of this machine.
  const Quirks tabled(context.runtime->version());
  if (!tabled.on(Quirk::kGrantsHost)) return "; this runtime is too old: HIP 7.2 and newer let the CPU in";
  if (access.imported && !tabled.on(Quirk::kGrantsHostOnImport))
    return "; this runtime has no place for the CPU to map what another process exported "
           "(rocm-systems#11185): copy with hipMemcpy";
  const Device* const owner = context.devices.at(access.owner);
  if (owner != nullptr && !owner->large_bar)
    return "; this GPU has no large BAR: without it the CPU does not reach device memory (BIOS: Above 4G "
           "decoding, resizable BAR)";
  return "";
}

}  // namespace

Result<Access> access_for(const Context& context, int owner, const std::vector<int>& devices,
                          HostAccess host) {
  Access access;
  access.owner = owner;
  access.host = host;
  for (const int device : devices.empty() ? all_visible(context) : devices) {
    if (device == owner) continue;
    if (std::find(access.peers.begin(), access.peers.end(), device) != access.peers.end()) continue;
    const auto reaches = context.devices.can_access(*context.runtime, device, owner);
    if (!reaches) return tl::unexpected(reaches.error());
    if (*reaches) {
      access.peers.push_back(device);
    } else if (!devices.empty()) {
      const Device* from = context.devices.at(device);
      const Device* to = context.devices.at(owner);
      return fail(HB_DEVICE, (from != nullptr ? from->id.text() : "device " + std::to_string(device)) +
                                 " cannot reach memory of " +
                                 (to != nullptr ? to->id.text() : "device " + std::to_string(owner)) +
                                 ": hipDeviceCanAccessPeer says no");
    }
  }
  return access;
}

Result<Access> access_for_import(const Context& context, const DeviceId& owner,
                                 const std::vector<int>& devices, HostAccess host) {
  if (const Device* device = context.devices.find(owner); device != nullptr) {
    auto access = access_for(context, device->ordinal, devices, host);
    if (access) access->imported = true;
    return access;
  }
  if (context.quirks.on(Quirk::kImportNeedsVisibleOwner) && hidden_from_rocr()) {
    Error error = context.devices.not_visible(owner, "importing");
    error.message += "; " + context.runtime->name() +
                     " imports only memory of GPUs it sees: add the GPU to ROCR_VISIBLE_DEVICES and choose "
                     "with HIP_VISIBLE_DEVICES";
    return fail(std::move(error));
  }
  Access access;
  access.host = host;
  access.imported = true;
  access.peers = devices.empty() ? all_visible(context) : devices;
  return access;
}

std::vector<client::PeerGrant> peer_grants(const DeviceTable& devices, const std::vector<DeviceId>& exporters,
                                           const Access& access) {
  const auto granted = [&access](int ordinal) {
    return ordinal == access.owner ||
           std::find(access.peers.begin(), access.peers.end(), ordinal) != access.peers.end();
  };
  std::vector<client::PeerGrant> out;
  for (const DeviceId& id : exporters) {
    const Device* device = devices.find(id);
    if (device == nullptr)
      out.push_back({id});
    else
      out.push_back({id, device->ordinal, granted(device->ordinal)});
  }
  for (const int ordinal : access.peers) {
    const bool named =
        std::any_of(out.begin(), out.end(), [ordinal](const auto& peer) { return peer.ordinal == ordinal; });
    if (const Device* device = devices.at(ordinal); device != nullptr && !named)
      out.push_back({device->id, ordinal, true});
  }
  return out;
}

Result<void> check_host_access(const Context& context, const Access& access) {
  if (access.host != HostAccess::kRequire) return {};
  if (!context.quirks.on(Quirk::kGrantsHost))
    return fail(HB_UNSUPPORTED, context.runtime->name() +
                                    " cannot let the CPU into device memory: HIP 7.2 or newer can. Copy with "
                                    "hipMemcpy, or ask for no host access");
  if (access.imported && !context.quirks.on(Quirk::kGrantsHostOnImport))
    return fail(HB_UNSUPPORTED,
                context.runtime->name() +
                    " cannot let the CPU into memory of another process. Copy with hipMemcpy, "
                    "or ask for no host access");
  return {};
}

Result<void> grant(const Context& context, const Access& access, char* base, char* at, std::size_t bytes,
                   const std::string& doing, bool& host_granted) {
  const int flags = access.writable ? kProtReadWrite : kProtRead;
  std::vector<MemAccessDesc> list;
  for (const int peer : access.peers) list.push_back({{kLocationDevice, peer}, flags});
  if (access.owner != Access::kHidden) list.push_back({{kLocationDevice, access.owner}, flags});
  const HipError code = set_access(context, list, base, at, bytes);
  if (code != kSuccess) return fail(driver_error(context.hip(), "hipMemSetAccess", code, doing));

  if (!host_granted) return {};
  const bool able = context.quirks.on(Quirk::kGrantsHost) &&
                    (!access.imported || context.quirks.on(Quirk::kGrantsHostOnImport));
  HipError host_code = kNotSupported;
  if (able) host_code = set_access(context, {{{kLocationHost, 0}, flags}}, base, at, bytes);
  if (host_code == kSuccess) return {};
  host_granted = false;
  if (access.host != HostAccess::kRequire) return {};
  Error error = driver_error(context.hip(), "hipMemSetAccess", host_code, doing + ", access for the CPU",
                             HB_UNSUPPORTED);
  error.message += why_no_host(context, access);
  return fail(std::move(error));
}

}  // namespace hb::client::hip
