// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Devices and the runtime itself.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <utility>

#include "call.h"

namespace hb::fakehip {
namespace {

// The numbers of AMD's enum; NVIDIA's differ.
enum : int {
  kAttrPciBusId = 67,
  kAttrPciDeviceId = 68,
  kAttrPciDomainId = 69,
  kAttrMemoryPools = 88,
  kAttrVmm = 89,
  kAttrHostRegister = 90,
  kAttrPoolHandleTypes = 91,
  kAttrHostNumaId = 92,
  kAttrDmaBuf = 93,
  kAttrRdmaWithVmm = 94,
  kAttrFabric = 95,
  kAttrHostAllocDmaBuf = 96,
  kAttrLargeBar = 10'011,
};

constexpr std::uint64_t kNominalVram = std::uint64_t{64} << 30;

}  // namespace
}  // namespace hb::fakehip

using namespace hb::fakehip;  // NOLINT: the C ABI over this namespace

FAKE_API HipError hipInit(unsigned flags) {
  FAKE_ENTER("hipInit", kPlain, flags);
  return call.done(flags != 0 ? kInvalidValue : s.visible.empty() ? kNoDevice : kSuccess);
}

FAKE_API HipError hipRuntimeGetVersion(int* out) {
  FAKE_ENTER("hipRuntimeGetVersion", kPlain);
  if (out == nullptr) return call.done(kInvalidValue);
  *out = s.quirks.runtime_version();
  return call.done(kSuccess);
}

FAKE_API HipError hipDriverGetVersion(int* out) {
  FAKE_ENTER("hipDriverGetVersion", kPlain);
  if (out == nullptr) return call.done(kInvalidValue);
  *out = s.quirks.runtime_version();
  return call.done(kSuccess);
}

FAKE_API HipError hipGetDeviceCount(int* out) {
  FAKE_ENTER("hipGetDeviceCount", kPlain);
  if (out == nullptr) return call.done(kInvalidValue);
  *out = static_cast<int>(s.visible.size());
  return call.done(s.visible.empty() ? kNoDevice : kSuccess);
}

FAKE_API HipError hipSetDevice(int device) {
  FAKE_ENTER("hipSetDevice", kGivesBack, device);
  if (s.line_of(device) < 0) return call.done(kInvalidDevice);
  current_device() = device;
  return call.done(kSuccess);
}

FAKE_API HipError hipGetDevice(int* out) {
  FAKE_ENTER("hipGetDevice", kPlain);
  if (out == nullptr) return call.done(kInvalidValue);
  if (s.visible.empty()) return call.done(kNoDevice);
  *out = current_device();
  return call.done(kSuccess);
}

FAKE_API HipError hipDeviceGet(int* out, int ordinal) {
  FAKE_ENTER("hipDeviceGet", kPlain, ordinal);
  if (out == nullptr) return call.done(kInvalidValue);
  if (s.line_of(ordinal) < 0) return call.done(kInvalidDevice);
  *out = ordinal;
  return call.done(kSuccess);
}

FAKE_API HipError hipDeviceGetName(char* out, int length, int device) {
  FAKE_ENTER("hipDeviceGetName", kPlain, device);
  if (out == nullptr || length <= 0) return call.done(kInvalidValue);
  if (s.line_of(device) < 0) return call.done(kInvalidDevice);
  std::snprintf(out, static_cast<std::size_t>(length), "Fake %s",
                s.devices[static_cast<std::size_t>(s.line_of(device))].gfx.c_str());
  return call.done(kSuccess);
}

FAKE_API HipError hipDeviceTotalMem(std::size_t* out, int device) {
  FAKE_ENTER("hipDeviceTotalMem", kPlain, device);
  if (out == nullptr) return call.done(kInvalidValue);
  if (s.line_of(device) < 0) return call.done(kInvalidDevice);
  const std::uint64_t vram = s.devices[static_cast<std::size_t>(s.line_of(device))].vram;
  *out = vram != 0 ? vram : kNominalVram;
  return call.done(kSuccess);
}

// 16 characters, not bytes, and no end mark.
FAKE_API HipError hipDeviceGetUuid(Uuid* out, int device) {
  FAKE_ENTER("hipDeviceGetUuid", kPlain, device);
  if (out == nullptr) return call.done(kInvalidValue);
  const int line = s.line_of(device);
  if (line < 0) return call.done(kInvalidDevice);
  const std::string& uuid = s.devices[static_cast<std::size_t>(line)].uuid;
  std::memset(out->bytes, 0, sizeof out->bytes);
  std::memcpy(out->bytes, uuid.data(), std::min(uuid.size(), sizeof out->bytes));
  return call.done(kSuccess);
}

FAKE_API HipError hipDeviceGetPCIBusId(char* out, int length, int device) {
  FAKE_ENTER("hipDeviceGetPCIBusId", kPlain, device);
  if (out == nullptr || length < 13) return call.done(kInvalidValue);
  const int line = s.line_of(device);
  if (line < 0) return call.done(kInvalidDevice);
  const std::string id = s.devices[static_cast<std::size_t>(line)].bus_id(s.on(Quirk::kPartitionInFunction));
  std::snprintf(out, static_cast<std::size_t>(length), "%s", id.c_str());
  return call.done(kSuccess);
}

FAKE_API HipError hipDeviceGetByPCIBusId(int* out, const char* id) {
  FAKE_ENTER("hipDeviceGetByPCIBusId", kPlain);
  if (out == nullptr || id == nullptr) return call.done(kInvalidValue);
  for (std::size_t i = 0; i < s.visible.size(); ++i)
    if (s.devices[static_cast<std::size_t>(s.visible[i])].bus_id(s.on(Quirk::kPartitionInFunction)) == id) {
      *out = static_cast<int>(i);
      return call.done(kSuccess);
    }
  return call.done(kInvalidValue);
}

FAKE_API HipError hipDeviceGetAttribute(int* out, int attribute, int device) {
  FAKE_ENTER("hipDeviceGetAttribute", kPlain, attribute, device);
  if (out == nullptr) return call.done(kInvalidValue);
  const int line = s.line_of(device);
  if (line < 0) return call.done(kInvalidDevice);
  const Device& d = s.devices[static_cast<std::size_t>(line)];
  const bool newer = s.on(Quirk::kDmaBufAttributes);
  switch (attribute) {
    case kAttrPciBusId:
      *out = static_cast<int>(d.bus);
      return call.done(kSuccess);
    case kAttrPciDeviceId:
      *out = static_cast<int>(d.slot);
      return call.done(kSuccess);
    case kAttrPciDomainId:
      *out = static_cast<int>(d.domain);
      return call.done(kSuccess);
    case kAttrVmm:
      if (s.on(Quirk::kVmmDeviceAttributeUnknown)) return call.done(kNotSupported);
      *out = s.on(Quirk::kNoVmm) ? 0 : 1;
      return call.done(kSuccess);
    case kAttrMemoryPools:
    case kAttrHostRegister:
    case kAttrPoolHandleTypes:
      *out = 1;
      return call.done(kSuccess);
    case kAttrLargeBar:
      *out = s.on(Quirk::kNoLargeBar) ? 0 : 1;
      return call.done(kSuccess);
    case kAttrHostNumaId:
      *out = 0;
      return call.done(kSuccess);
    case kAttrDmaBuf:
    case kAttrHostAllocDmaBuf:
    case kAttrRdmaWithVmm:
      *out = 1;
      return call.done(newer ? kSuccess : kInvalidValue);
    case kAttrFabric:
      *out = 0;
      return call.done(newer ? kSuccess : kInvalidValue);
    default:
      return call.done(kInvalidValue);
  }
}

FAKE_API HipError hipDeviceCanAccessPeer(int* out, int device, int peer) {
  FAKE_ENTER("hipDeviceCanAccessPeer", kPlain, device, peer);
  if (out == nullptr) return call.done(kInvalidValue);
  if (s.line_of(device) < 0 || s.line_of(peer) < 0) return call.done(kInvalidDevice);
  *out = device != peer && s.can_access(s.line_of(device), s.line_of(peer)) ? 1 : 0;
  return call.done(kSuccess);
}

// Enabling twice leaves an error that stays until it is fetched.
FAKE_API HipError hipDeviceEnablePeerAccess(int peer, unsigned flags) {
  FAKE_ENTER("hipDeviceEnablePeerAccess", kPlain, peer, flags);
  if (s.line_of(peer) < 0 || peer == current_device()) return call.done(kInvalidDevice);
  if (!s.can_access(s.line_of(current_device()), s.line_of(peer))) return call.done(kInvalidDevice);
  return call.done(s.peers_enabled.emplace(current_device(), peer).second ? kSuccess
                                                                          : kPeerAccessAlreadyEnabled);
}

FAKE_API HipError hipDeviceDisablePeerAccess(int peer) {
  FAKE_ENTER("hipDeviceDisablePeerAccess", kGivesBack, peer);
  return call.done(s.peers_enabled.erase({current_device(), peer}) == 1 ? kSuccess : kPeerAccessNotEnabled);
}

FAKE_API HipError hipDeviceSynchronize() {
  FAKE_ENTER("hipDeviceSynchronize", kPlain);
  if (const auto refusal = call.refused_by_capture()) return *refusal;
  const int ordinal = current_device();
  call.wait_until([&] { return s.streams.device_idle(ordinal); });
  return call.done(kSuccess);
}

FAKE_API HipError hipGetLastError() {
  Call call("hipGetLastError", CallKind::kQuiet, {});
  return call.done(std::exchange(last_error(), kSuccess));
}

FAKE_API HipError hipPeekAtLastError() {
  Call call("hipPeekAtLastError", CallKind::kQuiet, {});
  return call.done(last_error());
}
