// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "restart/record_codec.h"

#include <utility>

#include "wire/message_codec.h"

namespace hb::restart {
namespace {

using core::RecordKind;
namespace record = core::record;

RecordKey heap_key(core::RecordKey key) { return {static_cast<std::uint8_t>(key.kind), key.slot, key.part}; }

std::span<const std::byte> bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }

}  // namespace

void RecordCodec::begin() {
  heap_.begin();
  if (owed_.empty()) return;
  trouble_.clear();
  for (auto& [key, bytes] : std::exchange(owed_, {})) try_to_put(key, bytes);
}

void RecordCodec::commit() { heap_.commit(); }

void RecordCodec::try_to_put(const RecordKey& key, const std::string& bytes) {
  const auto stored = heap_.put(key, bytes_of(bytes));
  if (stored) return;
  trouble_ = stored.error();
  // It will never fit. What it was before says something else than the records beside it.
  if (bytes.size() > RecordHeap::kRecordBytes) heap_.drop(key);
  owed_.insert_or_assign(key, bytes);
}

void RecordCodec::store(core::RecordKey key, const std::string& bytes) {
  // With the node first: a floor that is too high costs nothing, one that is too low gives an id out twice.
  if (key.kind == RecordKind::kFloors)
    static_cast<void>(node_.keep(bytes_of(bytes)));  // some 40 bytes: they fit
  const RecordKey at = heap_key(key);
  if (!owed_.empty()) owed_.erase(at);
  try_to_put(at, bytes);
}

void RecordCodec::drop(core::RecordKey key) {
  const RecordKey at = heap_key(key);
  if (!owed_.empty()) owed_.erase(at);
  heap_.drop(at);
}

ReadRecords read_records(const RecordHeap& heap) {
  ReadRecords out;
  heap.for_each([&out](const RecordKey& at, std::span<const std::byte> bytes) {
    const core::RecordKey key{static_cast<RecordKind>(at.kind), at.slot, at.part};
    const std::string wrong = decode_record(out.set, key, bytes);
    if (wrong.empty()) return;
    out.unreadable.push_back(at);
    out.lines.push_back("a record of kind " + std::to_string(at.kind) + " in slot " +
                        std::to_string(at.slot) + ": " + wrong);
  });
  return out;
}

std::optional<record::Floors> read_floors(const NodeMemory& node) {
  record::Floors floors;
  if (node.kept().empty() || !msg::decode_into(node.kept(), floors)) return std::nullopt;
  return floors;
}

}  // namespace hb::restart
