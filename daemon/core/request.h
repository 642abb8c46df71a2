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
  std::vector<NewChunk> chunks;       // the first page
  std::vector<HandleFacts> handles;   // of this page. The core takes every one over: each ends in an
                                      // allocation or in CloseHandles, whatever the verdict.
};

struct ExportChunksRequest {
  ExportId id;
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

struct WithdrawRequest {
  Target target;
  bool all = false;
};

struct CancelRequest {
  std::uint64_t request_id = 0;
};

struct ListRequest {
  std::uint64_t cursor = 0;
  std::string prefix;
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

using Request = std::variant<ExportRequest, ExportChunksRequest, ExportAbortRequest, AcquireRequest,
                             FetchRequest, ReleaseRequest, WithdrawRequest, CancelRequest, ListRequest,
                             ShowRequest, WhoRequest, StatusRequest>;

}  // namespace hb::core
