// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// What the core wants done. Effects of one apply() are carried out in order, before the next apply():
// a reply may point into the core's tables.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/request.h"
#include "core/types.h"
#include "hipbroker/status.h"
#include "wire/key.h"

namespace hb::core {

// With HB_OK it is the empty answer to a one-way request that was sent with a request id after all.
struct Error {
  hb_status status = HB_INTERNAL;
  std::string message;  // names the thing, the cause, both numbers, the way out; never a secret, and never
                        // a name the caller may not know
  std::string what;
  std::uint64_t used = 0;
  std::uint64_t limit = 0;
  std::string who;
  std::uint64_t chunk = 0;  // number + 1; 0 = none
};

// A run of chunks with their descriptors. Points into the core's tables.
struct Page {
  std::uint64_t first = 0;
  std::span<const Chunk> chunks;
  std::vector<HandleId> handles;         // distinct, in order of first use
  std::vector<std::uint64_t> sizes;      // of each handle's whole object
  std::vector<std::uint16_t> handle_of;  // of each chunk: index into handles
  bool read_only = false;                // send the read-only reopening of a handle where the edge has one
};

struct Exported {
  ExportId id;
  std::uint32_t generation = 0;
  std::uint64_t layout_version = 0;
  std::uint64_t received_chunks = 0;
  bool complete = false;
  KeyBytes key{};
  Secret secret{};
  Access access = Access::kNone;
  std::uint64_t size = 0;  // when complete, of the whole export
  Mac token{};             // when complete: for ReofferRequest
};

struct ExportView {  // borrowed from the core's tables
  ExportId id;
  const std::string* name = nullptr;
  const std::string* metadata = nullptr;
  const Device* device = nullptr;
  std::uint32_t owner_uid = 0;
  std::uint32_t generation = 0;
  std::uint64_t layout_version = 0;
  std::uint64_t size = 0;
  HandleKind kind = HandleKind::kMemfd;
  const std::vector<Device>* peers = nullptr;
  std::uint64_t max_size = 0;
};

struct Acquired {
  LeaseId lease;
  std::uint32_t validity_slot = 0;
  std::uint32_t validity_value = 0;
  Access access = Access::kNone;
  Level level = Level::kNone;
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
  std::uint64_t first_chunk = 0;
  std::uint64_t chunk_count = 0;
  std::uint64_t chunk_base = 0;
  std::uint64_t object_bytes = 0;  // of the whole objects of these chunks, saturating
  ExportView exported;
  Secret secret{};
  bool follows = false;  // goes to the end, wherever that comes to be
  Page page;
};

struct Fetched {
  Page page;
};

struct ChunkRun {
  std::uint64_t first = 0;
  std::uint64_t count = 0;
  bool operator==(const ChunkRun&) const = default;
};

struct Refreshed {
  Acquired grant;  // without a page
  std::vector<ChunkRun> changed;
};

struct SessionInfo {
  SessionId id;
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  const ProcessInfo* process = nullptr;  // borrowed
  std::uint64_t age_ns = 0;
};

struct Holder {
  LeaseId lease;
  ExportId exported;
  SessionInfo session;
  Access access = Access::kNone;
  Level level = Level::kNone;
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
  std::uint64_t age_ns = 0;
  std::uint64_t unread_ns = 0;  // for how long events wait for this session; 0 = none does
  bool listens = false;         // subscribed to events
  bool unmap_asked = false;     // by a suspension, and has not said that it did
  TicketId ticket;              // then it is the daemon's lease for a ticket; `session` made it
  std::uint64_t ticket_left_ns = 0;
  std::uint64_t acked_step = 0;
  std::uint8_t state = 0;  // of the export
};

// Answers Withdraw, Revoke and Suspend.
struct Withdrawn {
  std::uint64_t exports = 0;
  std::vector<Holder> holders;  // at most limits::kListEntries
  bool more_holders = false;
  std::uint64_t holder_count = 0;    // of all
  std::uint64_t layout_version = 0;  // of a suspension
};

struct ExportInfo {
  ExportView view;
  SessionInfo owner;
  std::uint8_t state = 0;  // ExportState: 1 live
  Lifetime lifetime = Lifetime::kOwner;
  std::uint64_t chunks = 0;
  std::uint64_t allocations = 0;
  std::uint64_t leases = 0;
  std::uint64_t age_ns = 0;
  Access access = Access::kNone;
  Level level = Level::kNone;
  bool size_declared = false;
  std::uint64_t linger_ns = 0;
  std::uint64_t linger_left_ns = 0;
  std::uint64_t tickets = 0;
  std::uint64_t descriptors = 0;  // that the daemon holds for it
  std::uint64_t step = 0;
  std::uint64_t awaited_ns = 0;   // its descriptors are lost: until it goes
  std::vector<HandleId> handles;  // for the edge, which knows what outlives the daemon; of one shown alone
};

struct Listed {
  std::vector<ExportInfo> exports;
  std::uint64_t next_cursor = 0;
};

struct ShownChunk {
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
  AllocationId allocation;
  std::uint64_t object_offset = 0;
  std::uint64_t object_size = 0;
};

struct Shown {
  ExportInfo info;
  std::vector<AclEntry> acl;  // empty for those who may not see it
  std::vector<ShownChunk> chunks;
  bool more_chunks = false;
};

struct WhoListed {
  std::vector<Holder> holders;
  std::uint64_t next_cursor = 0;
};

struct Counters {
  std::uint64_t sessions = 0;
  std::uint64_t exports = 0;
  std::uint64_t allocations = 0;
  std::uint64_t leases = 0;
  std::uint64_t waits = 0;
  std::uint64_t stagings = 0;
  std::uint64_t ended_remembered = 0;
  std::uint64_t bytes = 0;
  std::uint64_t ended_held = 0;
  std::uint64_t tickets = 0;
  std::uint64_t groups = 0;
  std::uint64_t events_pending = 0;
};

// What one principal, or one scope as a whole, uses and may use.
struct AccountView {
  std::string scope;
  bool whole_scope = false;
  std::uint32_t uid = 0;
  std::array<std::uint64_t, kResources> used{};
  LimitSet limits;
};

struct QuotaListed {
  std::vector<AccountView> accounts;
  std::uint64_t next_cursor = 0;
};

struct TicketMade {
  KeyBytes ticket{};
};

struct TicketDropped {};

// The edge adds the descriptor that rings.
struct Subscribed {};

struct Event {
  EventKind kind = EventKind::kNone;
  LeaseId lease;  // none: the owner is told
  ExportId exported;
  std::uint32_t generation = 0;
  std::uint64_t layout_version = 0;
  std::uint64_t size = 0;  // 0 once it has ended
  ChunkRun chunks;         // kReplaced
};

struct EventsTaken {
  std::vector<Event> events;
  bool more = false;
};

struct Published {};

struct StepWaited {
  std::uint64_t step = 0;
};

struct AcksWaited {
  std::uint64_t acked = 0;
  std::vector<Holder> missing;
  bool more_missing = false;
  std::vector<Holder> left;
  bool more_left = false;
};

struct Joined {
  struct Member {
    ExportId exported;
    SessionInfo session;
    // None for the caller's own rank. One without chunks did not fit into the answer: a refresh of its lease
    // tells the rest.
    std::optional<Acquired> grant;
  };
  GroupId group;
  std::vector<Member> members;  // by rank
};

struct GroupReady {};

struct GroupAppended {
  std::vector<std::uint64_t> layout_versions;  // by rank
};

using ReplyBody =
    std::variant<Error, Exported, Acquired, Fetched, Withdrawn, Listed, Shown, WhoListed, Counters, Refreshed,
                 TicketMade, TicketDropped, Subscribed, EventsTaken, Published, StepWaited, AcksWaited,
                 Joined, GroupReady, GroupAppended, QuotaListed>;

struct Reply {
  SessionId session;
  std::uint64_t request_id = 0;
  std::uint16_t frame_type = 0;  // of the request, so that a late answer (a wait) is of the right type
  bool after_close = false;      // only once every handle closed by this apply() is really closed
  ReplyBody body;
};

// The core let go of these. The edge closes them on the closer thread; a queued reply that still carries
// one is answered GONE instead.
struct CloseHandles {
  std::vector<HandleId> handles;
};

// Written before any reply of the same apply() is sent.
struct SetValidity {
  SessionId session;
  std::uint32_t slot = 0;
  std::uint32_t value = 0;
};

// The session's doorbell: it has events to take. At most one without a TakeEvents in between.
struct Ring {
  SessionId session;
};

// Only with BrokerConfig::retries. A parked acquire found its name, and what read-only level it gets depends
// on facts only the edge can find out: ask readonly_candidates, fill in `facts`, apply() it again as it is,
// before anything of that session.
struct Retry {
  SessionId session;
  std::uint64_t request_id = 0;
  std::uint16_t frame_type = 0;
  AcquireRequest request;
};

// For the audit trail. Names are as their owners chose them, not escaped.
enum class AuditKind : std::uint8_t {
  kAcquired,  // the first lease of a (session, export)
  kReleased,  // the last one of it: `count` acquires in `held_ns`
  kRefused,
  kQuota,    // a limit was reached: what, used, limit, who
  kRevoked,  // from `count` leases
  // Not of the core:
  kScopeAdded,
  kScopeRemoved,
  kPolicyReloaded,
  kQuotaSet,
  kLeftOut,  // one principal caused more records than are kept for it: `count` were left out
};

struct Audit {
  AuditKind kind = AuditKind::kRefused;
  bool admin = false;  // by the admin socket
  std::uint32_t uid = 0;
  std::shared_ptr<const ProcessInfo> process;  // none = unknown
  ExportId exported;                           // of a refusal: as the request names it
  std::string name;
  std::uint32_t owner_uid = 0;
  std::uint32_t generation = 0;
  std::uint16_t frame_type = 0;  // of the request
  std::string_view verb;         // where there is no frame; of static storage
  hb_status status = HB_OK;
  std::string reason;
  std::string what;
  std::uint64_t used = 0;
  std::uint64_t limit = 0;
  std::string who;
  std::uint64_t count = 0;
  std::uint64_t held_ns = 0;
};

using Effect = std::variant<SetValidity, CloseHandles, Reply, Retry, Ring, Audit>;
using Effects = std::vector<Effect>;

}  // namespace hb::core
