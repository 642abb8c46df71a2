// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Messages that ask who shares what. What fields mean stands in proto/hipbroker/v1/broker.proto.
#pragma once

#include "message_field.h"
#include "messages_export.h"

namespace hb::client::msg {

struct Process {
  std::uint64_t session_id = 0;
  std::uint32_t pid = 0;
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  Text command;
  Text cgroup;
  Text scope;
  std::uint64_t connected_ns = 0;

  HB_MESSAGE(Process, HB_FIELD(1, session_id), HB_FIELD(2, pid), HB_FIELD(3, uid), HB_FIELD(4, gid),
             HB_FIELD(5, command), HB_FIELD(6, cgroup), HB_FIELD(7, scope), HB_FIELD(8, connected_ns))
};

struct Holder {
  std::uint64_t lease_id = 0;
  Process process;
  std::uint32_t access = 0;
  std::uint32_t level = 0;
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
  std::uint64_t age_ns = 0;
  std::uint64_t export_id = 0;
  std::uint64_t unread_ns = 0;
  bool listens = false;
  bool unmap_asked = false;
  std::uint64_t ticket = 0;
  std::uint64_t ticket_left_ns = 0;
  std::uint64_t acked_step = 0;
  std::uint32_t state = 0;

  HB_MESSAGE(Holder, HB_FIELD(1, lease_id), HB_FIELD(2, process), HB_FIELD(3, access), HB_FIELD(4, level),
             HB_FIELD(5, offset), HB_FIELD(6, length), HB_FIELD(7, age_ns), HB_FIELD(8, export_id),
             HB_FIELD(9, unread_ns), HB_FIELD(10, listens), HB_FIELD(11, unmap_asked), HB_FIELD(12, ticket),
             HB_FIELD(13, ticket_left_ns), HB_FIELD(14, acked_step), HB_FIELD(15, state))
};

struct WithdrawReply {
  std::uint64_t withdrawn = 0;
  std::vector<Holder> holders;
  bool more_holders = false;
  std::uint64_t layout_version = 0;
  std::uint64_t holder_count = 0;

  HB_MESSAGE(WithdrawReply, HB_FIELD(1, withdrawn), HB_FIELD_MAX(2, holders, limits::kListEntries),
             HB_FIELD(3, more_holders), HB_FIELD(4, layout_version), HB_FIELD(5, holder_count))
};

struct ExportInfo {
  std::uint64_t export_id = 0;
  Text name;
  Text scope;
  std::uint32_t owner_uid = 0;
  Process owner;
  std::uint32_t generation = 0;
  std::uint64_t layout_version = 0;
  std::uint32_t state = 0;
  std::uint32_t lifetime = 0;
  std::uint64_t size = 0;
  std::uint64_t chunks = 0;
  std::uint64_t allocations = 0;
  std::uint32_t handle_kind = 0;
  Device device;
  std::uint64_t leases = 0;
  std::uint64_t age_ns = 0;
  std::uint32_t access = 0;
  std::uint32_t level = 0;
  std::uint32_t metadata_bytes = 0;
  bool size_declared = false;
  std::vector<Device> peers;
  std::uint64_t max_size = 0;
  std::uint64_t linger_ns = 0;
  std::uint64_t linger_left_ns = 0;
  std::uint64_t tickets = 0;
  std::uint64_t descriptors = 0;
  std::uint64_t step = 0;
  std::uint64_t awaited_ns = 0;
  bool restart_unsafe = false;

  HB_MESSAGE(ExportInfo, HB_FIELD(1, export_id), HB_FIELD_MAX(2, name, limits::kNameBytes),
             HB_FIELD(3, scope), HB_FIELD(4, owner_uid), HB_FIELD(5, owner), HB_FIELD(6, generation),
             HB_FIELD(7, layout_version), HB_FIELD(8, state), HB_FIELD(9, lifetime), HB_FIELD(10, size),
             HB_FIELD(11, chunks), HB_FIELD(12, allocations), HB_FIELD(13, handle_kind), HB_FIELD(14, device),
             HB_FIELD(15, leases), HB_FIELD(16, age_ns), HB_FIELD(17, access), HB_FIELD(18, level),
             HB_FIELD(19, metadata_bytes), HB_FIELD(20, size_declared),
             HB_FIELD_MAX(21, peers, limits::kExportPeers), HB_FIELD(22, max_size), HB_FIELD(23, linger_ns),
             HB_FIELD(24, linger_left_ns), HB_FIELD(25, tickets), HB_FIELD(26, descriptors),
             HB_FIELD(27, step), HB_FIELD(28, awaited_ns), HB_FIELD(29, restart_unsafe))
};

struct List {
  std::uint64_t cursor = 0;
  Text prefix;
  bool ended = false;

  HB_MESSAGE(List, HB_FIELD(1, cursor), HB_FIELD(2, prefix), HB_FIELD(3, ended))
};

struct ListReply {
  std::vector<ExportInfo> exports;
  std::uint64_t next_cursor = 0;

  HB_MESSAGE(ListReply, HB_FIELD_MAX(1, exports, limits::kListEntries), HB_FIELD(2, next_cursor))
};

struct Show {
  Target target;
  std::uint64_t first_chunk = 0;

  HB_MESSAGE(Show, HB_FIELD(1, target), HB_FIELD(2, first_chunk))
};

struct ChunkInfo {
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
  std::uint64_t allocation = 0;
  std::uint64_t object_offset = 0;
  std::uint64_t object_size = 0;

  HB_MESSAGE(ChunkInfo, HB_FIELD(1, offset), HB_FIELD(2, size), HB_FIELD(3, allocation),
             HB_FIELD(4, object_offset), HB_FIELD(5, object_size))
};

struct ShowReply {
  ExportInfo info;
  std::vector<AclEntry> acl;
  Bytes metadata;
  std::vector<ChunkInfo> chunks;
  bool more_chunks = false;

  HB_MESSAGE(ShowReply, HB_FIELD(1, info), HB_FIELD_MAX(2, acl, limits::kAclEntries),
             HB_FIELD_MAX(3, metadata, limits::kMetadataBytes), HB_FIELD_MAX(4, chunks, limits::kPageChunks),
             HB_FIELD(5, more_chunks))
};

struct Who {
  Target target;
  std::uint64_t cursor = 0;

  HB_MESSAGE(Who, HB_FIELD(1, target), HB_FIELD(2, cursor))
};

struct WhoReply {
  std::vector<Holder> holders;
  std::uint64_t next_cursor = 0;
  std::uint64_t exports = 0;

  HB_MESSAGE(WhoReply, HB_FIELD_MAX(1, holders, limits::kListEntries), HB_FIELD(2, next_cursor),
             HB_FIELD(3, exports))
};

}  // namespace hb::client::msg
