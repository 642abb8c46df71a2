// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Messages about quotas. What fields mean stands in proto/hipbroker/v1/broker.proto.
#pragma once

#include "message_field.h"

namespace hb::client::msg {

inline constexpr std::size_t kMostResources = 64;  // of one account; there are fewer

struct Amount {
  Text resource;
  std::uint64_t limit = 0;
  std::uint64_t used = 0;

  HB_MESSAGE(Amount, HB_FIELD_MAX(1, resource, 64), HB_FIELD(2, limit), HB_FIELD(3, used))
};

// A oneof: at most one of the two ids is set.
struct QuotaSet {
  Text scope;
  std::optional<std::uint32_t> uid;
  std::optional<std::uint32_t> gid;
  std::span<const Amount> limits;
  bool clear = false;

  HB_MESSAGE(QuotaSet, HB_FIELD(1, scope), HB_FIELD(2, uid), HB_FIELD(3, gid), HB_FIELD(4, limits),
             HB_FIELD(5, clear))
};

struct QuotaSetReply {
  std::uint64_t sessions = 0;

  HB_MESSAGE(QuotaSetReply, HB_FIELD(1, sessions))
};

struct QuotaList {
  std::uint64_t cursor = 0;

  HB_MESSAGE(QuotaList, HB_FIELD(1, cursor))
};

struct Account {
  Text scope;
  bool whole_scope = false;
  std::uint32_t uid = 0;
  std::vector<Amount> amounts;

  HB_MESSAGE(Account, HB_FIELD_MAX(1, scope, limits::kScopeNameBytes), HB_FIELD(2, whole_scope),
             HB_FIELD(3, uid), HB_FIELD_MAX(4, amounts, kMostResources))
};

struct QuotaListReply {
  std::vector<Account> accounts;
  std::uint64_t next_cursor = 0;

  HB_MESSAGE(QuotaListReply, HB_FIELD_MAX(1, accounts, limits::kListEntries), HB_FIELD(2, next_cursor))
};

}  // namespace hb::client::msg
