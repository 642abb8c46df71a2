// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "support/record_memory.h"

#include <cstdlib>
#include <span>

#include "wire/message_codec.h"

namespace hb::test {

using namespace core;

void RecordMemory::put(RecordKey key, const record::Floors& record) { msg::encode(record, bytes_[key]); }
void RecordMemory::put(RecordKey key, const record::Session& record) { msg::encode(record, bytes_[key]); }
void RecordMemory::put(RecordKey key, const record::Answer& record) { msg::encode(record, bytes_[key]); }
void RecordMemory::put(RecordKey key, const record::Export& record) { msg::encode(record, bytes_[key]); }
void RecordMemory::put(RecordKey key, const record::Chunks& record) { msg::encode(record, bytes_[key]); }
void RecordMemory::put(RecordKey key, const record::Staging& record) { msg::encode(record, bytes_[key]); }
void RecordMemory::put(RecordKey key, const record::Allocation& record) { msg::encode(record, bytes_[key]); }
void RecordMemory::put(RecordKey key, const record::Lease& record) { msg::encode(record, bytes_[key]); }
void RecordMemory::put(RecordKey key, const record::Ticket& record) { msg::encode(record, bytes_[key]); }
void RecordMemory::put(RecordKey key, const record::Group& record) { msg::encode(record, bytes_[key]); }
void RecordMemory::put(RecordKey key, const record::Wait& record) { msg::encode(record, bytes_[key]); }

namespace {

template <class Record>
void add(RecordSet::Of<Record>& out, RecordKey key, const std::string& bytes) {
  out.emplace_back(key, Record());
  // What was encoded a moment ago.
  if (!msg::decode_into(std::as_bytes(std::span(bytes)), out.back().second)) std::abort();
}

}  // namespace

RecordSet RecordMemory::read() const {
  RecordSet out;
  for (const auto& [key, bytes] : bytes_) {
    switch (key.kind) {
      case RecordKind::kFloors:
        add(out.floors, key, bytes);
        break;
      case RecordKind::kSession:
        add(out.sessions, key, bytes);
        break;
      case RecordKind::kAnswer:
        add(out.answers, key, bytes);
        break;
      case RecordKind::kExport:
        add(out.exports, key, bytes);
        break;
      case RecordKind::kChunks:
      case RecordKind::kStagedChunks:
        add(out.chunks, key, bytes);
        break;
      case RecordKind::kStaging:
        add(out.stagings, key, bytes);
        break;
      case RecordKind::kAllocation:
        add(out.allocations, key, bytes);
        break;
      case RecordKind::kLease:
        add(out.leases, key, bytes);
        break;
      case RecordKind::kTicket:
        add(out.tickets, key, bytes);
        break;
      case RecordKind::kGroup:
        add(out.groups, key, bytes);
        break;
      case RecordKind::kWait:
        add(out.waits, key, bytes);
        break;
    }
  }
  return out;
}

}  // namespace hb::test
