// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// All records of a broker: who takes them one by one, and where they lie when they come back.
#pragma once

#include <utility>
#include <vector>

#include "core/record.h"

namespace hb::core {

// Takes what Broker::write_changes() has.
class RecordSink {
 public:
  virtual ~RecordSink() = default;
  virtual void put(RecordKey key, const record::Floors& record) = 0;
  virtual void put(RecordKey key, const record::Session& record) = 0;
  virtual void put(RecordKey key, const record::Answer& record) = 0;
  virtual void put(RecordKey key, const record::Export& record) = 0;
  virtual void put(RecordKey key, const record::Chunks& record) = 0;
  virtual void put(RecordKey key, const record::Staging& record) = 0;
  virtual void put(RecordKey key, const record::Allocation& record) = 0;
  virtual void put(RecordKey key, const record::Lease& record) = 0;
  virtual void put(RecordKey key, const record::Ticket& record) = 0;
  virtual void put(RecordKey key, const record::Group& record) = 0;
  virtual void put(RecordKey key, const record::Wait& record) = 0;
  virtual void drop(RecordKey key) = 0;
};

// All that was recorded, by kind; kChunks and kStagedChunks are told apart by their keys.
struct RecordSet {
  template <class T>
  using Of = std::vector<std::pair<RecordKey, T>>;
  Of<record::Floors> floors;
  Of<record::Session> sessions;
  Of<record::Answer> answers;
  Of<record::Export> exports;
  Of<record::Chunks> chunks;
  Of<record::Staging> stagings;
  Of<record::Allocation> allocations;
  Of<record::Lease> leases;
  Of<record::Ticket> tickets;
  Of<record::Group> groups;
  Of<record::Wait> waits;
};

// Calls use() with the list that has the records of a kind. False: of a kind that this version does not know.
template <class Use>
bool with_list(RecordSet& set, RecordKind kind, Use use) {
  switch (kind) {
    case RecordKind::kFloors:
      return use(set.floors), true;
    case RecordKind::kSession:
      return use(set.sessions), true;
    case RecordKind::kAnswer:
      return use(set.answers), true;
    case RecordKind::kExport:
      return use(set.exports), true;
    case RecordKind::kChunks:
    case RecordKind::kStagedChunks:
      return use(set.chunks), true;
    case RecordKind::kStaging:
      return use(set.stagings), true;
    case RecordKind::kAllocation:
      return use(set.allocations), true;
    case RecordKind::kLease:
      return use(set.leases), true;
    case RecordKind::kTicket:
      return use(set.tickets), true;
    case RecordKind::kGroup:
      return use(set.groups), true;
    case RecordKind::kWait:
      return use(set.waits), true;
  }
  return false;
}

}  // namespace hb::core
