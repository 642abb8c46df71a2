// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Messages that change, pass on or end an export. What fields mean stands in proto/hipbroker/v1/broker.proto.
#pragma once

#include "message_field.h"
#include "messages_acquire.h"
#include "messages_export.h"

namespace hb::client::msg {

struct Change {
  enum class Kind : std::int32_t { kNone = 0, kAppend = 1, kReplace = 2, kResume = 3 };
  std::uint64_t export_id = 0;
  Kind kind = Kind::kNone;
  std::uint64_t first = 0;
  std::uint64_t total_chunks = 0;
  std::uint64_t total_size = 0;
  std::uint64_t distinct_handles = 0;
  std::span<const Chunk> chunks;
  Device device;

  HB_MESSAGE(Change, HB_FIELD(1, export_id), HB_FIELD(2, kind), HB_FIELD(3, first), HB_FIELD(4, total_chunks),
             HB_FIELD(5, total_size), HB_FIELD(6, distinct_handles), HB_FIELD(7, chunks), HB_FIELD(8, device))
};

struct Refresh {
  std::uint64_t lease_id = 0;
  std::uint64_t have_version = 0;

  HB_MESSAGE(Refresh, HB_FIELD(1, lease_id), HB_FIELD(2, have_version))
};

struct ChunkRun {
  std::uint64_t first = 0;
  std::uint64_t count = 0;

  HB_MESSAGE(ChunkRun, HB_FIELD(1, first), HB_FIELD(2, count))
};

struct RefreshReply {
  AcquireReply grant;
  std::vector<ChunkRun> changed;

  HB_MESSAGE(RefreshReply, HB_FIELD(1, grant), HB_FIELD_MAX(2, changed, limits::kPageChunks))
};

struct Revoke {
  Target target;
  std::uint64_t grace_ns = 0;

  HB_MESSAGE(Revoke, HB_FIELD(1, target), HB_FIELD(2, grace_ns))
};

struct Suspend {
  std::uint64_t export_id = 0;
  std::uint64_t wait_ns = 0;

  HB_MESSAGE(Suspend, HB_FIELD(1, export_id), HB_FIELD(2, wait_ns))
};

struct Unmapped {
  std::uint64_t lease_id = 0;
  std::uint64_t layout_version = 0;

  HB_MESSAGE(Unmapped, HB_FIELD(1, lease_id), HB_FIELD(2, layout_version))
};

struct Claim {
  Target target;
  std::uint32_t lifetime = 0;
  std::uint64_t linger_ns = 0;

  HB_MESSAGE(Claim, HB_FIELD(1, target), HB_FIELD(2, lifetime), HB_FIELD(3, linger_ns))
};

// A oneof: one of the two ids is set.
struct MakeTicket {
  std::optional<std::uint64_t> export_id;
  std::optional<std::uint64_t> lease_id;
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
  std::uint32_t access = 0;
  std::uint64_t ttl_ns = 0;

  HB_MESSAGE(MakeTicket, HB_FIELD(1, export_id), HB_FIELD(2, lease_id), HB_FIELD(3, offset),
             HB_FIELD(4, length), HB_FIELD(5, access), HB_FIELD(6, ttl_ns))
};

struct MakeTicketReply {
  Bytes ticket;

  HB_MESSAGE(MakeTicketReply, HB_FIELD_MAX(1, ticket, 64))
};

struct DropTicket {
  Bytes ticket;

  HB_MESSAGE(DropTicket, HB_FIELD_MAX(1, ticket, 64))
};

struct DropTicketReply {
  HB_MESSAGE(DropTicketReply)
};

}  // namespace hb::client::msg
