// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Messages about the audit trail. What fields mean stands in proto/hipbroker/v1/broker.proto.
#pragma once

#include "message_field.h"

namespace hb::client::msg {

struct AuditRead {
  std::uint64_t after = 0;
  std::uint64_t since_unix_ns = 0;
  std::uint32_t max_records = 0;

  HB_MESSAGE(AuditRead, HB_FIELD(1, after), HB_FIELD(2, since_unix_ns), HB_FIELD(3, max_records))
};

// A record fills some bytes of a frame: more than this do not fit one.
inline constexpr std::size_t kPageRecords = limits::kFrameBytes / 8;

struct AuditReadReply {
  std::vector<Text> records;
  std::uint64_t last = 0;
  bool more = false;
  std::uint64_t lost = 0;

  HB_MESSAGE(AuditReadReply, HB_FIELD_MAX(1, records, kPageRecords), HB_FIELD(2, last), HB_FIELD(3, more),
             HB_FIELD(4, lost))
};

}  // namespace hb::client::msg
