// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// What a session may ask of the core, already parsed and bounded by the edge.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/types.h"
#include "hipbroker/status.h"
#include "wire/key.h"

namespace hb::core {

struct NameRef {
  std::string name;
  std::optional<std::uint32_t> owner_uid;  // none = the caller's own
};

using Target = std::variant<std::monostate, KeyBytes, NameRef, ExportId>;

struct ExportRequest {
  std::string name;
  std::string metadata;
  HandleKind kind = HandleKind::kMemfd;
  Placement placement;
  std::vector<AclEntry> acl;
  Lifetime lifetime = Lifetime::kOwner;
  std::uint64_t linger_ns = 0;
  std::uint64_t total_chunks = 0;
  std::uint64_t total_size = 0;
  std::uint64_t distinct_handles = 0;
  Access max_access = Access::kNone;  // kNone = all that the descriptors allow
  std::uint64_t max_size = 0;         // it may grow to so much; 0 = it does not grow
  bool replace = false;               // the name's present export of the same uid ends first
  std::vector<NewChunk> chunks;       // the first page
  std::vector<HandleFacts> handles;   // of this page. The core takes every one over: each ends in an
                                      // allocation or in CloseHandles, whatever the verdict.
};

// More chunks for an export that is there. Its pages come by ExportChunks, too.
struct ChangeRequest {
  enum class Kind : std::uint8_t { kNone = 0, kAppend = 1, kReplace = 2, kResume = 3 };
  ExportId id;
  Kind kind = Kind::kNone;
  std::uint64_t first = 0;  // kReplace: number of the first chunk whose place is taken
  std::uint64_t total_chunks = 0;
  std::uint64_t total_size = 0;
  std::uint64_t distinct_handles = 0;
  Device device;  // where the chunks are: the export's own
  std::vector<NewChunk> chunks;
  std::vector<HandleFacts> handles;  // taken over, as above
};

// Its descriptors were lost with the daemon that had them; the token says that the rest is true. It is
// suspended then, and awaits its chunks.
struct ReofferRequest {
  ExportId id;
  std::uint32_t generation = 0;
  Mac token{};
  std::string name;
  std::string metadata;
  HandleKind kind = HandleKind::kMemfd;
  Placement placement;
  std::vector<AclEntry> acl;
  Lifetime lifetime = Lifetime::kOwner;
  std::uint64_t linger_ns = 0;
  Access access = Access::kNone;
  std::uint64_t max_size = 0;
  std::uint64_t layout_version = 0;
  std::uint64_t size = 0;
};

struct ExportChunksRequest {
  ExportId id;  // of the export that is being sent or changed
  std::uint64_t first = 0;
  std::vector<NewChunk> chunks;
  std::vector<HandleFacts> handles;  // taken over, as above
};

struct ExportAbortRequest {
  ExportId id;
};

// What the edge verified now, for a reader that gets less than write: the core asks for it through
// Broker::readonly_candidates before apply().
struct ReadOnlyFact {
  AllocationId allocation;
  Level level = Level::kIntent;  // what holds against this reader at this moment
};

struct AcquireRequest {
  Target target;
  Access access = Access::kRead;
  std::uint64_t offset = 0;  // relative to the target
  std::uint64_t length = 0;  // 0 = to the end
  std::uint32_t max_handles = 0;
  std::uint64_t wait_ns = 0;  // by name only
  Level demand = Level::kNone;
  std::vector<ReadOnlyFact> facts;
  bool retried = false;  // set by the core in effect Retry: not a request sent twice
};

struct FetchRequest {
  LeaseId lease;
  std::uint64_t first = 0;
  std::uint32_t max_handles = 0;
};

struct ReleaseRequest {
  LeaseId lease;
};

struct RefreshRequest {
  LeaseId lease;
  std::uint64_t have_version = 0;
  std::vector<ReadOnlyFact> facts;  // as with an acquire
};

struct WithdrawRequest {
  Target target;
  bool all = false;
  std::uint64_t wait_ns = 0;  // for the leases to go
};

struct RevokeRequest {
  Target target;
  std::uint64_t grace_ns = 0;
};

struct SuspendRequest {
  ExportId id;
  std::uint64_t wait_ns = 0;  // for the holders to unmap
};

struct UnmappedRequest {
  LeaseId lease;
  std::uint64_t layout_version = 0;
};

struct ClaimRequest {
  Target target;  // by name or key
  Lifetime lifetime = Lifetime::kOwner;
  std::uint64_t linger_ns = 0;
};

struct MakeTicketRequest {
  ExportId id;    // one of
  LeaseId lease;  // the two
  std::uint64_t offset = 0;
  std::uint64_t length = 0;  // 0 = to the end
  Access access = Access::kRead;
  std::uint64_t ttl_ns = 0;
};

struct DropTicketRequest {
  KeyBytes ticket{};
};

struct SubscribeRequest {};

struct TakeEventsRequest {
  std::uint32_t max_events = 0;  // 0 = limits::kEventsPage
};

struct PublishRequest {
  ExportId id;
  std::uint64_t step = 0;
};

struct WaitStepRequest {
  LeaseId lease;
  std::uint64_t step = 0;
  std::uint64_t wait_ns = 0;
};

struct AckStepRequest {
  LeaseId lease;
  std::uint64_t step = 0;
};

struct WaitAcksRequest {
  ExportId id;
  std::uint64_t step = 0;
  std::uint64_t wait_ns = 0;
};

struct JoinRequest {
  std::string name;
  std::uint32_t rank = 0;
  std::uint32_t world = 0;
  std::uint64_t attempt = 0;
  std::uint64_t wait_ns = 0;
  ExportId offer;
  std::string agreement;
  bool any_layout = false;
  Access access = Access::kRead;
  std::uint32_t max_handles = 0;
};

struct ReadyRequest {
  GroupId group;
  std::uint64_t round = 0;  // 0 = the join, n = the n-th collective append
  hb_status status = HB_OK;
  std::string message;
  std::uint64_t wait_ns = 0;
};

struct GroupAppendRequest {
  GroupId group;
  std::uint64_t round = 0;
  std::uint64_t wait_ns = 0;
};

struct LeaveRequest {
  GroupId group;
};

struct CancelRequest {
  std::uint64_t request_id = 0;
};

struct ListRequest {
  std::uint64_t cursor = 0;
  std::string prefix;
  bool ended = false;  // also those that have ended and are still held
};

struct ShowRequest {
  Target target;
  std::uint64_t first_chunk = 0;
};

struct WhoRequest {
  Target target;
  std::uint64_t cursor = 0;
};

struct StatusRequest {};

struct QuotaListRequest {
  std::uint64_t cursor = 0;
};

using Request =
    std::variant<ExportRequest, ExportChunksRequest, ExportAbortRequest, AcquireRequest, FetchRequest,
                 ReleaseRequest, WithdrawRequest, CancelRequest, ListRequest, ShowRequest, WhoRequest,
                 StatusRequest, ChangeRequest, RefreshRequest, RevokeRequest, SuspendRequest, UnmappedRequest,
                 ClaimRequest, MakeTicketRequest, DropTicketRequest, SubscribeRequest, TakeEventsRequest,
                 PublishRequest, WaitStepRequest, AckStepRequest, WaitAcksRequest, JoinRequest, ReadyRequest,
                 GroupAppendRequest, LeaveRequest, QuotaListRequest, ReofferRequest>;

}  // namespace hb::core
