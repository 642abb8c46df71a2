// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Who may touch a mapping, and in which order it is said.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "error.h"
#include "providers/hip/device.h"
#include "providers/hip/quirks.h"
#include "providers/hip/runtime.h"
#include "providers/placement.h"

namespace hb::client::hip {

// What one process knows of its runtime and GPUs. Shared by all memory made with it.
struct Context {
  std::shared_ptr<const Runtime> runtime;
  Quirks quirks;
  DeviceTable devices;

  [[nodiscard]] const HipTable& hip() const { return runtime->hip(); }
};
using ContextPtr = std::shared_ptr<const Context>;

using client::HostAccess;

struct Access {
  static constexpr int kHidden = -1;
  int owner = kHidden;     // ordinal of the GPU the memory is on
  std::vector<int> peers;  // ordinals of the others that are to reach it, the owner not among them
  bool writable = true;
  HostAccess host = HostAccess::kNone;
  bool imported = false;

  // Whose calls these are: the owner, or the first peer where the owner is hidden.
  [[nodiscard]] int device() const { return owner != kHidden || peers.empty() ? owner : peers[0]; }
};

// For memory on `owner`: those of `devices` (ordinals; all visible ones when empty) that reach it, by
// hipDeviceCanAccessPeer. A device that was asked for and does not reach it is HB_DEVICE; of "all visible" it
// is left out.
[[nodiscard]] Result<Access> access_for(const Context& context, int owner, const std::vector<int>& devices,
                                        HostAccess host);

// The same for memory that another process exported. An owner that this process does not see is tried with
// the importer's own devices; where the runtime is known to refuse that, HB_DEVICE names both sides.
[[nodiscard]] Result<Access> access_for_import(const Context& context, const DeviceId& owner,
                                               const std::vector<int>& devices, HostAccess host);

// How the devices besides the owner's stand: those of `exporters` in their order, then others let in.
[[nodiscard]] std::vector<client::PeerGrant> peer_grants(const DeviceTable& devices,
                                                         const std::vector<DeviceId>& exporters,
                                                         const Access& access);

// HB_UNSUPPORTED when the CPU is required and this runtime cannot let it in.
[[nodiscard]] Result<void> check_host_access(const Context& context, const Access& access);

// Lets them in to the whole mappings of [at, at+bytes), all of one reservation whose first mapping is at
// `base`: every peer, then the owner, then the CPU in a call of its own. After an error the state of the
// devices is unknown and the mapping has to go. `host_granted` is cleared when the CPU stays out. Inside a
// DriverScope.
[[nodiscard]] Result<void> grant(const Context& context, const Access& access, char* base, char* at,
                                 std::size_t bytes, const std::string& doing, bool& host_granted);

}  // namespace hb::client::hip
