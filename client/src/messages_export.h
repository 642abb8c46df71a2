// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Messages of what is shared, and of its owner. What fields mean stands in proto/hipbroker/v1/broker.proto.
#pragma once

#include "message_field.h"

namespace hb::client::msg {

struct Device {
  Text uuid;
  Text pci;
  std::uint32_t partition = 0;

  HB_MESSAGE(Device, HB_FIELD_MAX(1, uuid, limits::kDeviceUuidBytes),
             HB_FIELD_MAX(2, pci, limits::kDevicePciBytes), HB_FIELD(3, partition))
};

struct AclEntry {
  enum class Kind : std::int32_t { kUid = 0, kGid = 1 };
  Kind kind = Kind::kUid;
  std::uint32_t id = 0;
  std::uint32_t access = 0;

  HB_MESSAGE(AclEntry, HB_FIELD(1, kind), HB_FIELD(2, id), HB_FIELD(3, access))
};

struct Chunk {
  std::uint32_t handle = 0;
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
  Bytes opaque;
  std::uint64_t identity = 0;
  std::uint64_t object_size = 0;

  HB_MESSAGE(Chunk, HB_FIELD(1, handle), HB_FIELD(2, offset), HB_FIELD(3, size),
             HB_FIELD_MAX(4, opaque, limits::kOpaqueBytes), HB_FIELD(5, identity), HB_FIELD(6, object_size))
};

struct NameRef {
  Text name;
  std::optional<std::uint32_t> uid;  // empty: the caller's own

  HB_MESSAGE(NameRef, HB_FIELD_MAX(1, name, limits::kNameBytes), HB_FIELD(2, uid))
};

// A oneof: exactly one is set, by the functions below; none means "everything" where that is allowed.
struct Target {
  std::optional<Bytes> key;
  std::optional<NameRef> name;
  std::optional<std::uint64_t> export_id;

  [[nodiscard]] static Target by_key(Bytes key) { return {key, {}, {}}; }
  [[nodiscard]] static Target by_name(Text name, std::optional<std::uint32_t> uid = {}) {
    return {{}, NameRef{name, uid}, {}};
  }
  [[nodiscard]] static Target by_id(std::uint64_t export_id) { return {{}, {}, export_id}; }

  HB_MESSAGE(Target, HB_FIELD_MAX(1, key, 64), HB_FIELD(2, name), HB_FIELD(3, export_id))
};

struct Export {
  Text name;
  Bytes metadata;
  std::uint32_t handle_kind = 0;
  Device device;
  std::span<const AclEntry> acl;
  std::uint32_t lifetime = 0;
  std::uint64_t linger_ns = 0;
  std::uint64_t total_chunks = 0;
  std::uint64_t total_size = 0;
  std::uint64_t distinct_handles = 0;
  std::uint32_t max_access = 0;
  std::span<const Chunk> chunks;
  std::span<const Device> peers;
  std::uint64_t max_size = 0;
  bool replace = false;

  HB_MESSAGE(Export, HB_FIELD(1, name), HB_FIELD(2, metadata), HB_FIELD(3, handle_kind), HB_FIELD(4, device),
             HB_FIELD(5, acl), HB_FIELD(6, lifetime), HB_FIELD(7, linger_ns), HB_FIELD(8, total_chunks),
             HB_FIELD(9, total_size), HB_FIELD(10, distinct_handles), HB_FIELD(11, max_access),
             HB_FIELD(12, chunks), HB_FIELD(13, peers), HB_FIELD(14, max_size), HB_FIELD(15, replace))
};

struct ExportChunks {
  std::uint64_t export_id = 0;
  std::uint64_t first = 0;
  std::span<const Chunk> chunks;

  HB_MESSAGE(ExportChunks, HB_FIELD(1, export_id), HB_FIELD(2, first), HB_FIELD(3, chunks))
};

struct ExportAbort {
  std::uint64_t export_id = 0;

  HB_MESSAGE(ExportAbort, HB_FIELD(1, export_id))
};

struct ExportReply {
  std::uint64_t export_id = 0;
  std::uint32_t generation = 0;
  std::uint64_t layout_version = 0;
  std::uint64_t received_chunks = 0;
  bool complete = false;
  Bytes key;
  Bytes secret;
  std::uint32_t access = 0;
  std::uint64_t size = 0;
  Bytes token;

  HB_MESSAGE(ExportReply, HB_FIELD(1, export_id), HB_FIELD(2, generation), HB_FIELD(3, layout_version),
             HB_FIELD(4, received_chunks), HB_FIELD(5, complete), HB_FIELD_MAX(6, key, 64),
             HB_FIELD_MAX(7, secret, 16), HB_FIELD(8, access), HB_FIELD(9, size), HB_FIELD_MAX(10, token, 16))
};

struct Reoffer {
  std::uint64_t export_id = 0;
  std::uint32_t generation = 0;
  Bytes token;
  Text name;
  Bytes metadata;
  std::uint32_t handle_kind = 0;
  Device device;
  std::span<const AclEntry> acl;
  std::span<const Device> peers;
  std::uint32_t lifetime = 0;
  std::uint64_t linger_ns = 0;
  std::uint32_t access = 0;
  std::uint64_t max_size = 0;
  std::uint64_t layout_version = 0;
  std::uint64_t size = 0;

  HB_MESSAGE(Reoffer, HB_FIELD(1, export_id), HB_FIELD(2, generation), HB_FIELD(3, token), HB_FIELD(4, name),
             HB_FIELD(5, metadata), HB_FIELD(6, handle_kind), HB_FIELD(7, device), HB_FIELD(8, acl),
             HB_FIELD(9, peers), HB_FIELD(10, lifetime), HB_FIELD(11, linger_ns), HB_FIELD(12, access),
             HB_FIELD(13, max_size), HB_FIELD(14, layout_version), HB_FIELD(15, size))
};

struct Withdraw {
  Target target;
  bool all = false;
  std::uint64_t wait_ns = 0;

  HB_MESSAGE(Withdraw, HB_FIELD(1, target), HB_FIELD(2, all), HB_FIELD(3, wait_ns))
};

}  // namespace hb::client::msg
