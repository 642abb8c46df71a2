// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// What outlives the process: one record an entry of the broker's tables, as plain values with numbered
// fields, so that an older and a newer daemon read each other's. Lists and counts that follow from the
// records are not in them: restore.cc builds them anew. A number is never used for something else.
//
// Text and bytes are views: of the tables when a record is given out, of the memory it was read from when it
// comes back.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "core/types.h"
#include "wire/message_field.h"

namespace hb::core {

enum class RecordKind : std::uint8_t {
  kFloors = 1,        // of everything, one
  kSession = 2,       // by slot of the session
  kAnswer = 3,        // by slot of the session; part: place in its log
  kExport = 4,        // by slot of the export
  kChunks = 5,        // likewise; part: number of the page
  kStaging = 6,       // by slot of the export
  kStagedChunks = 7,  // likewise; part: number of the page
  kAllocation = 8,
  kLease = 9,
  kTicket = 10,
  kGroup = 11,
  kWait = 12,
};

struct RecordKey {
  RecordKind kind{};
  std::uint32_t slot = 0;
  std::uint32_t part = 0;
  auto operator<=>(const RecordKey&) const = default;
};

namespace record {

using msg::Bytes;
using msg::Coding;
using msg::field;
using msg::Text;

// No id is given out twice: the highest use of every table, rounded up, so that it seldom changes.
struct Floors {
  std::uint32_t sessions = 0;
  std::uint32_t exports = 0;
  std::uint32_t allocations = 0;
  std::uint32_t leases = 0;
  std::uint32_t tickets = 0;
  std::uint32_t groups = 0;
  std::uint32_t export_slots = 0;  // of them there were so many
  bool operator==(const Floors&) const = default;

  HB_MESSAGE(Floors, HB_FIELD(1, sessions), HB_FIELD(2, exports), HB_FIELD(3, allocations),
             HB_FIELD(4, leases), HB_FIELD(5, tickets), HB_FIELD(6, groups), HB_FIELD(7, export_slots))
};

struct Process {
  std::uint32_t pid = 0;
  Text command;
  Text cgroup;
  Text scope_name;

  HB_MESSAGE(Process, HB_FIELD(1, pid), HB_FIELD(2, command), HB_FIELD(3, cgroup), HB_FIELD(4, scope_name))
};

struct Session {
  std::uint32_t use = 0;
  std::uint64_t scope = 0;
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  std::vector<std::uint32_t> groups;
  bool admin = false;
  Process process;
  std::uint64_t connected = 0;
  bool subscribed = false;
  std::uint32_t highest_word = 0;  // no validity word had a higher value
  std::uint64_t forgotten_answers = 0;
  std::uint64_t edge = 0;             // the edge's own: Broker::note_edge
  std::vector<std::uint64_t> parked;  // ids of requests that waited and had had no effect

  HB_MESSAGE(Session, HB_FIELD(1, use), HB_FIELD(2, scope), HB_FIELD(3, uid), HB_FIELD(4, gid),
             HB_FIELD_MAX(5, groups, 65'536), HB_FIELD(6, admin), HB_FIELD(7, process),
             HB_FIELD(8, connected), HB_FIELD(9, subscribed), HB_FIELD(10, highest_word),
             HB_FIELD(11, forgotten_answers), HB_FIELD(12, edge),
             HB_FIELD_MAX(13, parked, 2 * limits::kSessionWaits))
};

struct Error {
  std::int32_t status = 0;
  Text message;
  Text what;
  std::uint64_t used = 0;
  std::uint64_t limit = 0;
  Text who;
  std::uint64_t chunk = 0;

  HB_MESSAGE(Error, HB_FIELD_ZIGZAG(1, status), HB_FIELD(2, message), HB_FIELD(3, what), HB_FIELD(4, used),
             HB_FIELD(5, limit), HB_FIELD(6, who), HB_FIELD(7, chunk))
};

struct Holder {
  std::uint64_t lease = 0;
  std::uint64_t exported = 0;
  std::uint64_t session = 0;
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  Process process;
  std::uint64_t session_age_ns = 0;
  std::uint32_t access = 0;
  std::uint32_t level = 0;
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
  std::uint64_t age_ns = 0;
  std::uint64_t unread_ns = 0;
  bool listens = false;
  bool unmap_asked = false;
  std::uint64_t ticket = 0;
  std::uint64_t ticket_left_ns = 0;
  std::uint64_t acked_step = 0;
  std::uint32_t state = 0;

  HB_MESSAGE(Holder, HB_FIELD(1, lease), HB_FIELD(2, exported), HB_FIELD(3, session), HB_FIELD(4, uid),
             HB_FIELD(5, gid), HB_FIELD(6, process), HB_FIELD(7, session_age_ns), HB_FIELD(8, access),
             HB_FIELD(9, level), HB_FIELD(10, offset), HB_FIELD(11, length), HB_FIELD(12, age_ns),
             HB_FIELD(13, unread_ns), HB_FIELD(14, listens), HB_FIELD(15, unmap_asked), HB_FIELD(16, ticket),
             HB_FIELD(17, ticket_left_ns), HB_FIELD(18, acked_step), HB_FIELD(19, state))
};

struct Withdrawn {
  std::uint64_t exports = 0;
  std::vector<Holder> holders;
  bool more_holders = false;
  std::uint64_t holder_count = 0;
  std::uint64_t layout_version = 0;

  HB_MESSAGE(Withdrawn, HB_FIELD(1, exports), HB_FIELD_MAX(2, holders, limits::kListEntries),
             HB_FIELD(3, more_holders), HB_FIELD(4, holder_count), HB_FIELD(5, layout_version))
};

struct Exported {
  std::uint64_t id = 0;
  std::uint32_t generation = 0;
  std::uint64_t layout_version = 0;
  std::uint64_t received_chunks = 0;
  bool complete = false;
  Bytes key;
  Bytes secret;
  std::uint32_t access = 0;
  std::uint64_t size = 0;
  Bytes token;

  HB_MESSAGE(Exported, HB_FIELD(1, id), HB_FIELD(2, generation), HB_FIELD(3, layout_version),
             HB_FIELD(4, received_chunks), HB_FIELD(5, complete), HB_FIELD_MAX(6, key, 64),
             HB_FIELD_MAX(7, secret, 16), HB_FIELD(8, access), HB_FIELD(9, size), HB_FIELD_MAX(10, token, 16))
};

struct LeaseGiven {
  std::uint64_t lease = 0;
  std::uint64_t exported = 0;
  std::uint32_t generation = 0;

  HB_MESSAGE(LeaseGiven, HB_FIELD(1, lease), HB_FIELD(2, exported), HB_FIELD(3, generation))
};

// The answer to one mutating request; one of the optional ones is there.
struct Answer {
  std::uint64_t id = 0;
  std::uint32_t frame_type = 0;
  std::optional<Error> error;
  std::optional<Exported> exported;
  std::optional<LeaseGiven> lease;
  std::vector<Withdrawn> withdrawn;  // one, or none
  std::optional<Bytes> ticket;
  std::optional<std::uint32_t> done;
  std::optional<std::uint64_t> joined;  // group
  std::uint64_t order = 0;

  HB_MESSAGE(Answer, HB_FIELD(1, id), HB_FIELD(2, frame_type), HB_FIELD(3, error), HB_FIELD(4, exported),
             HB_FIELD(5, lease), HB_FIELD_MAX(6, withdrawn, 1), HB_FIELD_MAX(7, ticket, 64),
             HB_FIELD(8, done), HB_FIELD(9, joined), HB_FIELD(10, order))
};

struct Device {
  Text uuid;
  Text pci;
  std::uint32_t partition = 0;

  HB_MESSAGE(Device, HB_FIELD(1, uuid), HB_FIELD(2, pci), HB_FIELD(3, partition))
};

struct AclEntry {
  std::uint32_t kind = 0;
  std::uint32_t id = 0;
  std::uint32_t access = 0;

  HB_MESSAGE(AclEntry, HB_FIELD(1, kind), HB_FIELD(2, id), HB_FIELD(3, access))
};

struct Change {
  std::uint64_t version = 0;
  std::uint64_t first = 0;
  std::uint64_t count = 0;

  HB_MESSAGE(Change, HB_FIELD(1, version), HB_FIELD(2, first), HB_FIELD(3, count))
};

struct Departed {
  std::uint64_t lease = 0;
  std::uint64_t session = 0;
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  std::optional<Process> process;
  std::uint64_t acked_step = 0;

  HB_MESSAGE(Departed, HB_FIELD(1, lease), HB_FIELD(2, session), HB_FIELD(3, uid), HB_FIELD(4, gid),
             HB_FIELD(5, process), HB_FIELD(6, acked_step))
};

// Of an export that is more than a plain one (ExportLife).
struct Life {
  std::uint64_t max_size = 0;
  std::uint64_t forgotten_changes = 0;
  std::vector<Change> changes;
  std::uint64_t linger_ns = 0;
  std::uint64_t linger_end = kNever;
  std::optional<Process> owner;
  std::uint64_t owner_session = 0;
  std::uint32_t owner_gid = 0;
  std::uint64_t ended_size = 0;
  std::uint64_t ended_chunks = 0;
  std::uint64_t suspended_size = 0;
  std::uint64_t step = 0;
  std::vector<Departed> departed;
  bool more_departed = false;
  bool awaited = false;
  std::uint64_t suspended_chunks = 0;
  bool lost = false;

  HB_MESSAGE(Life, HB_FIELD(1, max_size), HB_FIELD(2, forgotten_changes),
             HB_FIELD_MAX(3, changes, limits::kChangesRemembered), HB_FIELD(4, linger_ns),
             HB_FIELD(5, linger_end), HB_FIELD(6, owner), HB_FIELD(7, owner_session), HB_FIELD(8, owner_gid),
             HB_FIELD(9, ended_size), HB_FIELD(10, ended_chunks), HB_FIELD(11, suspended_size),
             HB_FIELD(12, step), HB_FIELD_MAX(13, departed, 65'536), HB_FIELD(14, more_departed),
             HB_FIELD(15, awaited), HB_FIELD(16, suspended_chunks), HB_FIELD(17, lost))
};

struct Export {
  std::uint32_t use = 0;
  std::uint32_t state = 0;
  Text name;
  std::uint32_t generation = 0;
  std::uint32_t name_generation = 0;
  std::uint64_t scope = 0;
  std::uint32_t owner_uid = 0;
  std::optional<std::uint32_t> session;  // slot
  std::uint64_t layout_version = 0;
  std::uint64_t created = 0;
  std::uint64_t ended = 0;
  std::uint64_t order = 0;  // of getting its owner, or of its end
  Text metadata;
  std::vector<AclEntry> acl;
  Device device;
  std::vector<Device> peers;
  std::uint32_t kind = 0;
  std::uint32_t lifetime = 0;
  std::uint32_t access = 0;
  std::uint64_t chunks = 0;  // how many: they are in pages
  std::optional<Life> life;
  bool all_sealed = false;
  bool size_declared = false;

  HB_MESSAGE(Export, HB_FIELD(1, use), HB_FIELD(2, state), HB_FIELD(3, name), HB_FIELD(4, generation),
             HB_FIELD(5, name_generation), HB_FIELD(6, scope), HB_FIELD(7, owner_uid), HB_FIELD(8, session),
             HB_FIELD(9, layout_version), HB_FIELD(10, created), HB_FIELD(11, ended), HB_FIELD(12, order),
             HB_FIELD(13, metadata), HB_FIELD_MAX(14, acl, limits::kAclEntries), HB_FIELD(15, device),
             HB_FIELD_MAX(16, peers, limits::kExportPeers), HB_FIELD(17, kind), HB_FIELD(18, lifetime),
             HB_FIELD(19, access), HB_FIELD(20, chunks), HB_FIELD(21, life), HB_FIELD(22, all_sealed),
             HB_FIELD(23, size_declared))
};

// A page of chunks of an export, of a staging, or the sizes that a suspended export had (then without
// allocations).
struct Chunks {
  static constexpr std::uint32_t kPage = 512;
  std::vector<std::uint64_t> allocations;  // ids
  std::vector<std::uint64_t> offsets;
  std::vector<std::uint64_t> sizes;

  HB_MESSAGE(Chunks, HB_FIELD_MAX(1, allocations, kPage), HB_FIELD_MAX(2, offsets, kPage),
             HB_FIELD_MAX(3, sizes, kPage))
};

struct Staging {
  std::uint32_t session = 0;  // slot
  std::uint32_t change = 0;
  std::uint64_t first = 0;
  Text metadata;
  std::vector<AclEntry> acl;
  Device device;
  std::vector<Device> peers;
  std::uint32_t kind = 0;
  std::uint32_t max_access = 0;
  std::uint64_t max_size = 0;
  bool replace = false;
  std::uint32_t lifetime = 0;
  std::uint64_t linger_ns = 0;
  bool promises_write = false;
  std::uint64_t total_chunks = 0;
  std::uint64_t total_size = 0;
  std::uint64_t handles_to_come = 0;
  std::uint64_t chunks = 0;  // that came: they are in pages
  std::uint64_t order = 0;   // among its session's

  HB_MESSAGE(Staging, HB_FIELD(1, session), HB_FIELD(2, change), HB_FIELD(3, first), HB_FIELD(4, metadata),
             HB_FIELD_MAX(5, acl, limits::kAclEntries), HB_FIELD(6, device),
             HB_FIELD_MAX(7, peers, limits::kExportPeers), HB_FIELD(8, kind), HB_FIELD(9, max_access),
             HB_FIELD(10, max_size), HB_FIELD(11, replace), HB_FIELD(12, lifetime), HB_FIELD(13, linger_ns),
             HB_FIELD(14, promises_write), HB_FIELD(15, total_chunks), HB_FIELD(16, total_size),
             HB_FIELD(17, handles_to_come), HB_FIELD(18, chunks), HB_FIELD(19, order))
};

struct Allocation {
  std::uint32_t use = 0;
  std::uint64_t handle = 0;
  std::uint64_t size = 0;
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::uint64_t declared_by = 0;  // session
  std::uint32_t kind = 0;
  bool mergeable = false;
  bool writable = false;
  bool sealed = false;
  bool size_known = false;

  HB_MESSAGE(Allocation, HB_FIELD(1, use), HB_FIELD(2, handle), HB_FIELD(3, size), HB_FIELD(4, device),
             HB_FIELD(5, inode), HB_FIELD(6, declared_by), HB_FIELD(7, kind), HB_FIELD(8, mergeable),
             HB_FIELD(9, writable), HB_FIELD(10, sealed), HB_FIELD(11, size_known))
};

struct Lease {
  std::uint32_t use = 0;
  std::uint32_t session = 0;   // slot
  std::uint32_t exported = 0;  // slot
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
  std::uint64_t layout_version = 0;
  std::uint64_t created = 0;
  std::uint32_t first_chunk = 0;
  std::uint32_t chunk_count = 0;
  std::uint32_t validity_slot = 0;
  std::uint32_t validity_value = 0;
  std::uint64_t acked_step = 0;
  std::uint32_t access = 0;
  std::uint32_t level = 0;
  bool current = false;
  bool follows = false;
  bool unmap_asked = false;
  bool pins = false;
  std::uint64_t order = 0;

  HB_MESSAGE(Lease, HB_FIELD(1, use), HB_FIELD(2, session), HB_FIELD(3, exported), HB_FIELD(4, offset),
             HB_FIELD(5, length), HB_FIELD(6, layout_version), HB_FIELD(7, created), HB_FIELD(8, first_chunk),
             HB_FIELD(9, chunk_count), HB_FIELD(10, validity_slot), HB_FIELD(11, validity_value),
             HB_FIELD(12, acked_step), HB_FIELD(13, access), HB_FIELD(14, level), HB_FIELD(15, current),
             HB_FIELD(16, follows), HB_FIELD(17, unmap_asked), HB_FIELD(18, pins), HB_FIELD(19, order))
};

struct Ticket {
  std::uint32_t use = 0;
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
  std::uint64_t made = 0;
  std::uint64_t deadline = 0;
  std::uint64_t maker = 0;
  std::optional<Process> process;
  std::uint64_t exported = 0;  // id
  std::uint64_t scope = 0;
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  std::uint32_t access = 0;
  std::uint32_t end = 0;
  std::uint64_t order = 0;  // of its end among all

  HB_MESSAGE(Ticket, HB_FIELD(1, use), HB_FIELD(2, offset), HB_FIELD(3, length), HB_FIELD(4, made),
             HB_FIELD(5, deadline), HB_FIELD(6, maker), HB_FIELD(7, process), HB_FIELD(8, exported),
             HB_FIELD(9, scope), HB_FIELD(10, uid), HB_FIELD(11, gid), HB_FIELD(12, access),
             HB_FIELD(13, end), HB_FIELD(14, order))
};

struct Rank {
  std::uint32_t rank = 0;
  std::uint32_t session = 0;  // slot
  std::uint32_t world = 0;
  std::uint32_t max_handles = 0;
  std::uint64_t offer = 0;
  Text agreement;
  std::vector<std::uint64_t> leases;
  std::uint32_t access = 0;
  bool any_layout = false;

  HB_MESSAGE(Rank, HB_FIELD(1, rank), HB_FIELD(2, session), HB_FIELD(3, world), HB_FIELD(4, max_handles),
             HB_FIELD(5, offer), HB_FIELD(6, agreement), HB_FIELD_MAX(7, leases, limits::kGroupWorld),
             HB_FIELD(8, access), HB_FIELD(9, any_layout))
};

// One whose ranks still gather is not recorded: they all wait, and join again.
struct Group {
  std::uint32_t use = 0;
  std::uint64_t scope = 0;
  std::uint32_t uid = 0;
  Text name;
  std::uint64_t attempt = 0;
  std::uint64_t round = 0;
  std::uint32_t phase = 0;
  Error end;
  std::vector<Rank> ranks;

  HB_MESSAGE(Group, HB_FIELD(1, use), HB_FIELD(2, scope), HB_FIELD(3, uid), HB_FIELD(4, name),
             HB_FIELD(5, attempt), HB_FIELD(6, round), HB_FIELD(7, phase), HB_FIELD(8, end),
             HB_FIELD_MAX(9, ranks, limits::kGroupWorld))
};

// Of a request that had an effect and whose answer is still to come: withdraw, revoke, suspend.
struct Wait {
  std::uint32_t session = 0;  // slot
  std::uint64_t request_id = 0;
  std::uint32_t frame_type = 0;
  std::uint64_t deadline = 0;
  std::uint32_t exported = 0;  // slot
  bool unmapped = false;
  std::uint64_t exports = 0;

  HB_MESSAGE(Wait, HB_FIELD(1, session), HB_FIELD(2, request_id), HB_FIELD(3, frame_type),
             HB_FIELD(4, deadline), HB_FIELD(5, exported), HB_FIELD(6, unmapped), HB_FIELD(7, exports))
};

}  // namespace record

}  // namespace hb::core
