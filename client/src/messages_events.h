// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Messages that tell what happened, and of steps. What fields mean stands in proto/hipbroker/v1/broker.proto.
#pragma once

#include "message_field.h"
#include "messages_look.h"

namespace hb::client::msg {

struct Subscribe {
  HB_MESSAGE(Subscribe)
};

struct SubscribeReply {
  HB_MESSAGE(SubscribeReply)
};

struct Event {
  enum class Kind : std::int32_t {
    kNone = 0,
    kGrown = 1,
    kReplaced = 2,
    kSuspended = 3,
    kResumed = 4,
    kWithdrawn = 5,
    kRevoked = 6,
    kOwnerDied = 7,
    kGone = 8,
    kClaimed = 9,
    kLost = 10,
  };
  Kind kind = Kind::kNone;
  std::uint64_t lease_id = 0;
  std::uint64_t export_id = 0;
  std::uint32_t generation = 0;
  std::uint64_t layout_version = 0;
  std::uint64_t size = 0;
  std::uint64_t first_chunk = 0;
  std::uint64_t chunk_count = 0;

  HB_MESSAGE(Event, HB_FIELD(1, kind), HB_FIELD(2, lease_id), HB_FIELD(3, export_id), HB_FIELD(4, generation),
             HB_FIELD(5, layout_version), HB_FIELD(6, size), HB_FIELD(7, first_chunk),
             HB_FIELD(8, chunk_count))
};

struct TakeEvents {
  std::uint32_t max_events = 0;

  HB_MESSAGE(TakeEvents, HB_FIELD(1, max_events))
};

struct TakeEventsReply {
  std::vector<Event> events;
  bool more = false;

  HB_MESSAGE(TakeEventsReply, HB_FIELD_MAX(1, events, limits::kEventsPage), HB_FIELD(2, more))
};

struct Publish {
  std::uint64_t export_id = 0;
  std::uint64_t step = 0;

  HB_MESSAGE(Publish, HB_FIELD(1, export_id), HB_FIELD(2, step))
};

struct PublishReply {
  HB_MESSAGE(PublishReply)
};

struct WaitStep {
  std::uint64_t lease_id = 0;
  std::uint64_t step = 0;
  std::uint64_t wait_ns = 0;

  HB_MESSAGE(WaitStep, HB_FIELD(1, lease_id), HB_FIELD(2, step), HB_FIELD(3, wait_ns))
};

struct WaitStepReply {
  std::uint64_t step = 0;

  HB_MESSAGE(WaitStepReply, HB_FIELD(1, step))
};

struct AckStep {
  std::uint64_t lease_id = 0;
  std::uint64_t step = 0;

  HB_MESSAGE(AckStep, HB_FIELD(1, lease_id), HB_FIELD(2, step))
};

struct WaitAcks {
  std::uint64_t export_id = 0;
  std::uint64_t step = 0;
  std::uint64_t wait_ns = 0;

  HB_MESSAGE(WaitAcks, HB_FIELD(1, export_id), HB_FIELD(2, step), HB_FIELD(3, wait_ns))
};

struct WaitAcksReply {
  std::uint64_t acked = 0;
  std::vector<Holder> missing;
  bool more_missing = false;
  std::vector<Holder> left;
  bool more_left = false;

  HB_MESSAGE(WaitAcksReply, HB_FIELD(1, acked), HB_FIELD_MAX(2, missing, limits::kListEntries),
             HB_FIELD(3, more_missing), HB_FIELD_MAX(4, left, limits::kListEntries), HB_FIELD(5, more_left))
};

}  // namespace hb::client::msg
