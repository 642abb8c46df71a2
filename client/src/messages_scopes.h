// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Messages about scopes. What fields mean stands in proto/hipbroker/v1/broker.proto.
#pragma once

#include "message_field.h"
#include "messages_quotas.h"

namespace hb::client::msg {

struct ScopeAdd {
  Text name;
  std::vector<std::uint32_t> uids;
  std::span<const Amount> total;
  std::span<const Amount> each;

  HB_MESSAGE(ScopeAdd, HB_FIELD(1, name), HB_FIELD_MAX(2, uids, limits::kScopeUids), HB_FIELD(3, total),
             HB_FIELD(4, each))
};

struct ScopeAddReply {
  Text directory;

  HB_MESSAGE(ScopeAddReply, HB_FIELD(1, directory))
};

struct ScopeRemove {
  Text name;

  HB_MESSAGE(ScopeRemove, HB_FIELD(1, name))
};

struct ScopeRemoveReply {
  std::uint64_t sessions = 0;
  std::uint64_t exports = 0;
  std::uint64_t tickets = 0;
  std::uint64_t groups = 0;
  std::uint64_t bytes = 0;

  HB_MESSAGE(ScopeRemoveReply, HB_FIELD(1, sessions), HB_FIELD(2, exports), HB_FIELD(3, tickets),
             HB_FIELD(4, groups), HB_FIELD(5, bytes))
};

struct ScopeInfo {
  Text name;
  Text directory;
  std::vector<std::uint32_t> uids;
  std::vector<Amount> total;
  std::uint64_t sessions = 0;
  std::uint64_t exports = 0;
  std::uint64_t age_ns = 0;

  HB_MESSAGE(ScopeInfo, HB_FIELD_MAX(1, name, limits::kScopeNameBytes), HB_FIELD(2, directory),
             HB_FIELD_MAX(3, uids, limits::kScopeUids), HB_FIELD_MAX(4, total, kMostResources),
             HB_FIELD(5, sessions), HB_FIELD(6, exports), HB_FIELD(7, age_ns))
};

struct ScopeList {
  std::uint64_t cursor = 0;

  HB_MESSAGE(ScopeList, HB_FIELD(1, cursor))
};

struct ScopeListReply {
  std::vector<ScopeInfo> scopes;
  std::uint64_t next_cursor = 0;

  HB_MESSAGE(ScopeListReply, HB_FIELD_MAX(1, scopes, limits::kListEntries), HB_FIELD(2, next_cursor))
};

}  // namespace hb::client::msg
