// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Messages about the policy of the node. What fields mean stands in proto/hipbroker/v1/broker.proto.
#pragma once

#include "message_field.h"
#include "messages_export.h"

namespace hb::client::msg {

struct Reload {
  HB_MESSAGE(Reload)
};

// A line fills some bytes of a frame: more lines than this do not fit one.
inline constexpr std::size_t kReloadLines = limits::kFrameBytes / 8;

struct ReloadReply {
  std::vector<Text> errors;
  std::vector<Text> warnings;
  std::uint64_t rules = 0;
  std::uint64_t overrides = 0;
  std::uint64_t sessions = 0;
  Text file;

  HB_MESSAGE(ReloadReply, HB_FIELD_MAX(1, errors, kReloadLines), HB_FIELD_MAX(2, warnings, kReloadLines),
             HB_FIELD(3, rules), HB_FIELD(4, overrides), HB_FIELD(5, sessions), HB_FIELD(6, file))
};

inline constexpr std::size_t kCheckedGids = 8'192;  // 5 B each

struct CheckPolicy {
  std::uint32_t uid = 0;
  std::vector<std::uint32_t> gids;
  Text scope;
  std::optional<NameRef> name;

  HB_MESSAGE(CheckPolicy, HB_FIELD(1, uid), HB_FIELD_MAX(2, gids, kCheckedGids),
             HB_FIELD_MAX(3, scope, limits::kScopeNameBytes), HB_FIELD(4, name))
};

struct Verdict {
  Text verb;
  bool allowed = false;
  Text reason;

  HB_MESSAGE(Verdict, HB_FIELD(1, verb), HB_FIELD(2, allowed), HB_FIELD(3, reason))
};

struct CheckPolicyReply {
  std::vector<Verdict> verdicts;
  bool found = false;
  std::uint32_t access = 0;
  Text access_reason;
  std::uint64_t export_id = 0;
  std::uint32_t state = 0;

  HB_MESSAGE(CheckPolicyReply, HB_FIELD_MAX(1, verdicts, 64), HB_FIELD(2, found), HB_FIELD(3, access),
             HB_FIELD(4, access_reason), HB_FIELD(5, export_id), HB_FIELD(6, state))
};

}  // namespace hb::client::msg
