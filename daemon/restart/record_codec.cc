// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "restart/record_codec.h"

#include <utility>

#include "wire/message_codec.h"

namespace hb::restart {
namespace {

using core::RecordKind;
namespace record = core::record;

RecordKey heap_key(core::RecordKey key) {
  return {static_cast<std::uint8_t>(key.kind), key.slot, key.part};
}

std::span<const std::byte> bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }

// What is wrong with it; empty where nothing is.
template <class Record>
std::string read(core::RecordKey key, std::span<const std::byte> bytes, core::RecordSet::Of<Record>& out) {
  Record record;
  if (const auto read = msg::decode_into(bytes, record); !read) return read.error().text();
  out.emplace_back(key, std::move(record));
  return {};
}

std::string read_into(core::RecordSet& set, core::RecordKey key, std::span<const std::byte> bytes) {
  switch (key.kind) {
    case RecordKind::kFloors:
      return read(key, bytes, set.floors);
    case RecordKind::kSession:
      return read(key, bytes, set.sessions);
    case RecordKind::kAnswer:
      return read(key, bytes, set.answers);
    case RecordKind::kExport:
      return read(key, bytes, set.exports);
    case RecordKind::kChunks:
    case RecordKind::kStagedChunks:
      return read(key, bytes, set.chunks);
    case RecordKind::kStaging:
      return read(key, bytes, set.stagings);
    case RecordKind::kAllocation:
      return read(key, bytes, set.allocations);
    case RecordKind::kLease:
      return read(key, bytes, set.leases);
    case RecordKind::kTicket:
      return read(key, bytes, set.tickets);
    case RecordKind::kGroup:
      return read(key, bytes, set.groups);
    case RecordKind::kWait:
      return read(key, bytes, set.waits);
  }
  return "of a kind that this version does not know";
}

}  // namespace

void RecordCodec::begin() {
  heap_.begin();
  if (owed_.empty()) return;
  trouble_.clear();
  for (auto& [key, bytes] : std::exchange(owed_, {})) store(key, bytes);
}

void RecordCodec::commit() { heap_.commit(); }

void RecordCodec::store(const RecordKey& key, const std::string& bytes) {
  const auto stored = heap_.put(key, bytes_of(bytes));
  if (stored) return;
  trouble_ = stored.error();
  owed_.insert_or_assign(key, bytes);
}

template <class Record>
void RecordCodec::write(core::RecordKey key, const Record& record) {
  msg::encode(record, scratch_);
  const RecordKey at = heap_key(key);
  if (!owed_.empty()) owed_.erase(at);
  store(at, scratch_);
}

// With the node first: a floor that is too high costs nothing, one that is too low gives an id out twice.
void RecordCodec::put(core::RecordKey key, const record::Floors& floors) {
  msg::encode(floors, scratch_);
  static_cast<void>(node_.keep(bytes_of(scratch_)));  // some 40 bytes: they fit
  write(key, floors);
}

void RecordCodec::put(core::RecordKey key, const record::Session& record) { write(key, record); }
void RecordCodec::put(core::RecordKey key, const record::Answer& record) { write(key, record); }
void RecordCodec::put(core::RecordKey key, const record::Export& record) { write(key, record); }
void RecordCodec::put(core::RecordKey key, const record::Chunks& record) { write(key, record); }
void RecordCodec::put(core::RecordKey key, const record::Staging& record) { write(key, record); }
void RecordCodec::put(core::RecordKey key, const record::Allocation& record) { write(key, record); }
void RecordCodec::put(core::RecordKey key, const record::Lease& record) { write(key, record); }
void RecordCodec::put(core::RecordKey key, const record::Ticket& record) { write(key, record); }
void RecordCodec::put(core::RecordKey key, const record::Group& record) { write(key, record); }
void RecordCodec::put(core::RecordKey key, const record::Wait& record) { write(key, record); }

void RecordCodec::drop(core::RecordKey key) {
  const RecordKey at = heap_key(key);
  if (!owed_.empty()) owed_.erase(at);
  heap_.drop(at);
}

ReadRecords read_records(const RecordHeap& heap) {
  ReadRecords out;
  heap.for_each([&out](const RecordKey& at, std::span<const std::byte> bytes) {
    const core::RecordKey key{static_cast<RecordKind>(at.kind), at.slot, at.part};
    const std::string wrong = read_into(out.set, key, bytes);
    if (wrong.empty()) return;
    out.unreadable.push_back(at);
    out.lines.push_back("a record of kind " + std::to_string(at.kind) + " in slot " + std::to_string(at.slot) +
                        ": " + wrong);
  });
  return out;
}

std::optional<record::Floors> read_floors(const NodeMemory& node) {
  record::Floors floors;
  if (node.kept().empty() || !msg::decode_into(node.kept(), floors)) return std::nullopt;
  return floors;
}

}  // namespace hb::restart
