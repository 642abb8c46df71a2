// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Messages of a group of ranks. What fields mean stands in proto/hipbroker/v1/broker.proto.
#pragma once

#include "message_field.h"
#include "messages_acquire.h"
#include "messages_look.h"

namespace hb::client::msg {

struct Join {
  Text name;
  std::uint32_t rank = 0;
  std::uint32_t world = 0;
  std::uint64_t attempt = 0;
  std::uint64_t wait_ns = 0;
  std::uint64_t export_id = 0;
  Bytes agreement;
  bool any_layout = false;
  std::uint32_t access = 0;
  std::uint32_t max_handles = 0;

  HB_MESSAGE(Join, HB_FIELD(1, name), HB_FIELD(2, rank), HB_FIELD(3, world), HB_FIELD(4, attempt),
             HB_FIELD(5, wait_ns), HB_FIELD(6, export_id), HB_FIELD(7, agreement), HB_FIELD(8, any_layout),
             HB_FIELD(9, access), HB_FIELD(10, max_handles))
};

struct Member {
  std::uint32_t rank = 0;
  std::uint64_t export_id = 0;
  std::optional<AcquireReply> grant;  // empty: the caller's own rank
  Process process;

  HB_MESSAGE(Member, HB_FIELD(1, rank), HB_FIELD(2, export_id), HB_FIELD(3, grant), HB_FIELD(4, process))
};

struct JoinReply {
  std::uint64_t group_id = 0;
  std::vector<Member> members;

  HB_MESSAGE(JoinReply, HB_FIELD(1, group_id), HB_FIELD_MAX(2, members, limits::kGroupWorld))
};

struct Ready {
  std::uint64_t group_id = 0;
  std::int32_t status = 0;
  Text message;
  std::uint64_t wait_ns = 0;
  std::uint64_t round = 0;

  HB_MESSAGE(Ready, HB_FIELD(1, group_id), HB_FIELD_ZIGZAG(2, status), HB_FIELD(3, message),
             HB_FIELD(4, wait_ns), HB_FIELD(5, round))
};

struct ReadyReply {
  HB_MESSAGE(ReadyReply)
};

struct GroupAppend {
  std::uint64_t group_id = 0;
  std::uint64_t round = 0;
  std::uint64_t wait_ns = 0;

  HB_MESSAGE(GroupAppend, HB_FIELD(1, group_id), HB_FIELD(2, round), HB_FIELD(3, wait_ns))
};

struct GroupAppendReply {
  std::vector<std::uint64_t> layout_versions;

  HB_MESSAGE(GroupAppendReply, HB_FIELD_MAX(1, layout_versions, limits::kGroupWorld))
};

struct Leave {
  std::uint64_t group_id = 0;

  HB_MESSAGE(Leave, HB_FIELD(1, group_id))
};

}  // namespace hb::client::msg
