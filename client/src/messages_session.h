// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Messages of the session itself. What fields mean stands in proto/hipbroker/v1/broker.proto.
#pragma once

#include "message_field.h"

namespace hb::client::msg {

struct Hello {
  std::uint32_t lowest_version = 0;
  std::uint32_t highest_version = 0;
  std::span<const Text> features;
  Text library;

  HB_MESSAGE(Hello, HB_FIELD(1, lowest_version), HB_FIELD(2, highest_version), HB_FIELD(3, features),
             HB_FIELD(4, library))
};

// The daemon's own word: it was started again and has the session as it was.
struct Resumed {
  static constexpr std::size_t kAwaited = 4096;
  std::uint64_t restarts = 0;
  std::vector<std::uint64_t> awaited;
  bool more_awaited = false;

  HB_MESSAGE(Resumed, HB_FIELD(1, restarts), HB_FIELD_MAX(2, awaited, kAwaited), HB_FIELD(3, more_awaited))
};

struct Limits {
  std::uint32_t frame_bytes = 0;
  std::uint32_t frame_fds = 0;
  std::uint32_t page_chunks = 0;
  std::uint32_t name_bytes = 0;
  std::uint32_t metadata_bytes = 0;
  std::uint32_t acl_entries = 0;
  std::uint64_t export_chunks = 0;
  std::uint64_t export_bytes = 0;
  std::uint32_t session_leases = 0;

  HB_MESSAGE(Limits, HB_FIELD(1, frame_bytes), HB_FIELD(2, frame_fds), HB_FIELD(3, page_chunks),
             HB_FIELD(4, name_bytes), HB_FIELD(5, metadata_bytes), HB_FIELD(6, acl_entries),
             HB_FIELD(7, export_chunks), HB_FIELD(8, export_bytes), HB_FIELD(9, session_leases))
};

struct HelloReply {
  std::uint32_t version = 0;
  std::vector<Text> features;
  Bytes broker_id;
  std::uint64_t session_id = 0;
  Text daemon;
  Text scope;
  bool admin = false;
  Limits limits;
  std::uint32_t uid = 0;
  std::uint32_t pid = 0;

  HB_MESSAGE(HelloReply, HB_FIELD(1, version), HB_FIELD_MAX(2, features, limits::kFeatures),
             HB_FIELD_MAX(3, broker_id, 16), HB_FIELD(4, session_id), HB_FIELD(5, daemon), HB_FIELD(6, scope),
             HB_FIELD(7, admin), HB_FIELD(8, limits), HB_FIELD(9, uid), HB_FIELD(10, pid))
};

struct Error {
  std::int32_t status = 0;
  Text message;
  Text what;
  std::uint64_t used = 0;
  std::uint64_t limit = 0;
  Text who;
  std::int32_t sys_errno = 0;
  Text operation;
  std::uint64_t chunk = 0;

  HB_MESSAGE(Error, HB_FIELD_ZIGZAG(1, status), HB_FIELD(2, message), HB_FIELD(3, what), HB_FIELD(4, used),
             HB_FIELD(5, limit), HB_FIELD(6, who), HB_FIELD(7, sys_errno), HB_FIELD(8, operation),
             HB_FIELD(9, chunk))
};

struct Cancel {
  std::uint64_t request_id = 0;

  HB_MESSAGE(Cancel, HB_FIELD(1, request_id))
};

struct SharePage {
  HB_MESSAGE(SharePage)
};

struct SharePageReply {
  std::uint32_t slots = 0;

  HB_MESSAGE(SharePageReply, HB_FIELD(1, slots))
};

struct Ping {
  Bytes payload;

  HB_MESSAGE(Ping, HB_FIELD_MAX(1, payload, limits::kPingBytes))
};

struct PingReply {
  Bytes payload;
  std::uint64_t uptime_ns = 0;

  HB_MESSAGE(PingReply, HB_FIELD_MAX(1, payload, limits::kPingBytes), HB_FIELD(2, uptime_ns))
};

struct Status {
  HB_MESSAGE(Status)
};

struct StatusReply {
  std::uint64_t uptime_ns = 0;
  std::uint64_t sessions = 0;
  std::uint64_t exports = 0;
  std::uint64_t allocations = 0;
  std::uint64_t leases = 0;
  std::uint64_t waits = 0;
  std::uint64_t stagings = 0;
  std::uint64_t ended_remembered = 0;
  std::uint64_t fds_used = 0;
  std::uint64_t fds_limit = 0;
  std::uint64_t fds_reserve = 0;
  std::uint64_t closing = 0;
  std::uint64_t quarantined = 0;
  std::uint64_t bytes = 0;
  std::uint64_t ended_held = 0;
  std::uint64_t tickets = 0;
  std::uint64_t groups = 0;
  std::uint64_t events_pending = 0;
  std::uint64_t in_flight = 0;
  std::uint64_t in_flight_limit = 0;
  std::uint64_t answers_waiting = 0;
  std::uint64_t sockets_unread = 0;
  std::uint64_t log_waiting = 0;
  std::uint64_t log_dropped = 0;
  std::uint64_t audit_dropped = 0;
  std::uint64_t audit_told = 0;
  std::uint32_t sandbox = 0;
  bool restart_safe = false;
  Text restart_reason;
  std::uint64_t parked = 0;
  std::uint64_t parked_limit = 0;
  std::uint64_t store_entries = 0;
  std::uint64_t store_entries_max = 0;
  std::uint64_t records = 0;
  std::uint64_t records_bytes = 0;
  std::uint64_t awaited = 0;
  std::uint64_t restarts = 0;
  bool draining = false;

  HB_MESSAGE(StatusReply, HB_FIELD(1, uptime_ns), HB_FIELD(2, sessions), HB_FIELD(3, exports),
             HB_FIELD(4, allocations), HB_FIELD(5, leases), HB_FIELD(6, waits), HB_FIELD(7, stagings),
             HB_FIELD(8, ended_remembered), HB_FIELD(9, fds_used), HB_FIELD(10, fds_limit),
             HB_FIELD(11, fds_reserve), HB_FIELD(12, closing), HB_FIELD(13, quarantined), HB_FIELD(14, bytes),
             HB_FIELD(15, ended_held), HB_FIELD(16, tickets), HB_FIELD(17, groups),
             HB_FIELD(18, events_pending), HB_FIELD(30, in_flight), HB_FIELD(31, in_flight_limit),
             HB_FIELD(32, answers_waiting), HB_FIELD(33, sockets_unread), HB_FIELD(34, log_waiting),
             HB_FIELD(35, log_dropped), HB_FIELD(36, audit_dropped), HB_FIELD(37, audit_told),
             HB_FIELD(38, sandbox), HB_FIELD(39, restart_safe), HB_FIELD(40, restart_reason),
             HB_FIELD(41, parked), HB_FIELD(42, parked_limit), HB_FIELD(43, store_entries),
             HB_FIELD(44, store_entries_max), HB_FIELD(45, records), HB_FIELD(46, records_bytes),
             HB_FIELD(47, awaited), HB_FIELD(48, restarts), HB_FIELD(49, draining))
};

struct Drain {
  bool off = false;

  HB_MESSAGE(Drain, HB_FIELD(1, off))
};

struct DrainReply {
  bool restart_safe = false;
  Text reason;
  std::uint64_t unsafe_exports = 0;
  std::uint64_t uploads = 0;
  std::uint64_t sessions_lost = 0;

  HB_MESSAGE(DrainReply, HB_FIELD(1, restart_safe), HB_FIELD(2, reason), HB_FIELD(3, unsafe_exports),
             HB_FIELD(4, uploads), HB_FIELD(5, sessions_lost))
};

}  // namespace hb::client::msg
