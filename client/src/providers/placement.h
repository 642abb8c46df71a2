// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Where memory is and who is to reach it, in words that every provider and the wire understand.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace hb::client {

// The same GPU, or part of a GPU, in every process of the node. As on the wire.
struct DeviceId {
  std::string uuid;  // "GPU-" and 16 characters; empty for boards without
  std::string pci;   // "0000:03:00.0", always function 0
  std::uint32_t partition = 0;

  bool operator==(const DeviceId&) const = default;
  [[nodiscard]] bool empty() const { return uuid.empty() && pci.empty(); }
  // "GPU-f00d000000000002 at 0000:83:00.0", with "/3" for partition 3
  [[nodiscard]] std::string text() const;
};

// What memory at an address is. As HB_MEMORY_*.
enum class MemoryKind : std::uint32_t {
  kUnknown = 0,
  kOwn = 1,
  kImported = 2,
  kVmm = 3,
  kMalloc = 4,
  kPool = 5,
  kHost = 6,
};

enum class HostAccess : std::uint8_t {
  kNone,
  kPrefer,   // devices only, where the CPU cannot be let in
  kRequire,  // all of it or nothing
};

// How memory of another process is mapped.
enum class Mapping : std::uint8_t {
  kVmm,       // reserved, mapped, granted: any number of chunks and devices
  kExternal,  // hipImportExternalMemory: one chunk, the current device
};

// GPUs by their ordinals in this process, besides the one the memory is on.
struct DeviceSet {
  bool all = false;        // every visible one that can reach the memory
  bool exporters = false;  // imports: those that the exporter let in, as far as visible here
  std::vector<int> ordinals;

  bool operator==(const DeviceSet&) const = default;
};

// A GPU besides the one the memory is on, as this process sees it.
struct PeerGrant {
  DeviceId device;
  int ordinal = -1;      // in this process; -1 = not visible here
  bool granted = false;  // let in by this process
};

}  // namespace hb::client
