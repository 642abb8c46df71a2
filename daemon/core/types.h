// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// The values the broker reasons about. No descriptors, no sockets, no protobuf.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/ids.h"
#include "core/resource.h"
#include "core/rights.h"

namespace hb::core {

// Who speaks, as the kernel told at accept. Never from a message.
struct Principal {
  ScopeId scope;
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  std::vector<std::uint32_t> groups;  // sorted, without duplicates, gid included unless it stands for anyone
  bool admin = false;                 // connected through the admin socket
  Rights rights = Rights::usual();    // by the node's policy
  std::shared_ptr<const LimitSet> limits;  // by the same; none = the built-in ones

  [[nodiscard]] std::uint64_t limit_of(Resource resource) const {
    return (limits ? *limits : LimitSet::built_in()).of(resource);
  }

  [[nodiscard]] bool in_group(std::uint32_t group) const;
};

// For people: who, and tables of holders. Decides nothing.
struct ProcessInfo {
  std::uint32_t pid = 0;  // 0 = not visible from the daemon's pid namespace
  std::string command;
  std::string cgroup;
  std::string scope_name;
};

enum class Access : std::uint8_t { kNone = 0, kRead = 1, kReadWrite = 3 };
[[nodiscard]] constexpr bool allows(Access have, Access want) {
  return (static_cast<int>(have) & static_cast<int>(want)) == static_cast<int>(want);
}

// How firmly read-only holds (design section 7), weakest first.
enum class Level : std::uint8_t { kNone = 0, kIntent = 1, kPerReader = 2, kSealed = 3 };

// Open number on the wire; values fixed for ever.
enum class HandleKind : std::uint32_t {
  kMemfd = 1,   // sealed memfd
  kDmaBuf = 2,  // udmabuf, dma_heap, a GPU's dma-buf
  kDriver = 3,  // a driver's own handle type, by configuration; size and identity only declared
};

enum class Lifetime : std::uint8_t { kOwner = 0, kLinger = 1, kPersist = 2 };

// What a holder or an owner is told. Values are fixed for ever: they go on the wire.
enum class EventKind : std::uint8_t {
  kNone = 0,
  kGrown = 1,
  kReplaced = 2,
  kSuspended = 3,
  kResumed = 4,
  kWithdrawn = 5,
  kRevoked = 6,
  kOwnerDied = 7,
  kGone = 8,
  kClaimed = 9,
  kLost = 10,  // more happened than was kept: every lease and export has to be looked at
};

struct Device {
  std::string uuid;
  std::string pci;
  std::uint32_t partition = 0;
  bool operator==(const Device&) const = default;
};

// Where memory is and which other GPUs its exporter let in. The broker only passes it on.
struct Placement {
  Device device;
  std::vector<Device> peers;
  bool operator==(const Placement&) const = default;
};

struct AclEntry {
  enum class Kind : std::uint8_t { kUid = 0, kGid = 1 };
  Kind kind = Kind::kUid;
  std::uint32_t id = 0;
  Access access = Access::kNone;
  bool operator==(const AclEntry&) const = default;
};

// What the edge found out about one received descriptor, by calls that cannot block.
struct HandleFacts {
  HandleId id;
  HandleKind kind = HandleKind::kMemfd;
  bool writable = false;
  bool sealed = false;          // F_SEAL_FUTURE_WRITE or F_SEAL_WRITE
  bool size_known = false;      // the kernel tells the size of this kind
  std::uint64_t size = 0;       // bytes, when known
  bool identity_known = false;  // (device, inode) tell this object from every other of its kind
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
};

// One chunk as an exporter sends it.
struct NewChunk {
  static constexpr std::uint32_t kNoHandle = UINT32_MAX;
  std::uint32_t handle = kNoHandle;  // index into the page's handles
  std::uint64_t offset = 0;          // inside the object
  std::uint64_t size = 0;
  std::uint64_t identity = 0;     // declared; counts only within one session
  std::uint64_t object_size = 0;  // declared; counts only where the kernel is silent
  std::string opaque;
};

// A chunk of a live export.
struct Chunk {
  AllocationId allocation;
  std::uint64_t offset = 0;  // inside the object
  std::uint64_t size = 0;
  std::uint64_t start = 0;  // inside the export
};

}  // namespace hb::core
