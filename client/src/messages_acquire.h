// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Messages of an importer. What fields mean stands in proto/hipbroker/v1/broker.proto.
#pragma once

#include "message_field.h"
#include "messages_export.h"

namespace hb::client::msg {

struct Acquire {
  Target target;
  std::uint32_t access = 0;
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
  std::uint32_t max_handles = 0;
  std::uint64_t wait_ns = 0;
  std::uint32_t demand_level = 0;

  HB_MESSAGE(Acquire, HB_FIELD(1, target), HB_FIELD(2, access), HB_FIELD(3, offset), HB_FIELD(4, length),
             HB_FIELD(5, max_handles), HB_FIELD(6, wait_ns), HB_FIELD(7, demand_level))
};

struct AcquireReply {
  std::uint64_t lease_id = 0;
  std::uint32_t validity_slot = 0;
  std::uint32_t validity_value = 0;
  std::uint32_t access = 0;
  std::uint32_t level = 0;
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
  std::uint64_t first_chunk = 0;
  std::uint64_t chunk_count = 0;
  std::uint64_t chunk_base = 0;
  std::uint64_t export_id = 0;
  std::uint32_t generation = 0;
  std::uint64_t layout_version = 0;
  std::uint64_t export_size = 0;
  std::uint32_t handle_kind = 0;
  Device device;
  Bytes metadata;
  Bytes secret;
  Text name;
  std::uint32_t owner_uid = 0;
  std::vector<Chunk> chunks;
  std::uint64_t object_bytes = 0;
  std::vector<Device> peers;
  std::uint64_t max_size = 0;
  bool follows = false;

  HB_MESSAGE(AcquireReply, HB_FIELD(1, lease_id), HB_FIELD(2, validity_slot), HB_FIELD(3, validity_value),
             HB_FIELD(4, access), HB_FIELD(5, level), HB_FIELD(6, offset), HB_FIELD(7, length),
             HB_FIELD(8, first_chunk), HB_FIELD(9, chunk_count), HB_FIELD(10, chunk_base),
             HB_FIELD(11, export_id), HB_FIELD(12, generation), HB_FIELD(13, layout_version),
             HB_FIELD(14, export_size), HB_FIELD(15, handle_kind), HB_FIELD(16, device),
             HB_FIELD_MAX(17, metadata, limits::kMetadataBytes), HB_FIELD_MAX(18, secret, 16),
             HB_FIELD_MAX(19, name, limits::kNameBytes), HB_FIELD(20, owner_uid),
             HB_FIELD_MAX(21, chunks, limits::kPageChunks), HB_FIELD(22, object_bytes),
             HB_FIELD_MAX(23, peers, limits::kExportPeers), HB_FIELD(24, max_size), HB_FIELD(25, follows))
};

struct Fetch {
  std::uint64_t lease_id = 0;
  std::uint64_t first = 0;
  std::uint32_t max_handles = 0;

  HB_MESSAGE(Fetch, HB_FIELD(1, lease_id), HB_FIELD(2, first), HB_FIELD(3, max_handles))
};

struct FetchReply {
  std::uint64_t first = 0;
  std::vector<Chunk> chunks;

  HB_MESSAGE(FetchReply, HB_FIELD(1, first), HB_FIELD_MAX(2, chunks, limits::kPageChunks))
};

struct Release {
  std::uint64_t lease_id = 0;

  HB_MESSAGE(Release, HB_FIELD(1, lease_id))
};

}  // namespace hb::client::msg
