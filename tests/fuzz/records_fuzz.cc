// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Any records at all into a broker that is new: it takes them or says what does not fit, and what it took
// keeps every invariant through events that end all of it. An entry is kind, slot (2 bytes), part, length
// (2 bytes) and so many bytes of the record.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "core/broker.h"
#include "require.h"
#include "support/record_memory.h"
#include "wire/message_codec.h"

namespace {

using namespace hb::core;  // NOLINT: the names of one small program

template <class Record>
bool add(RecordSet::Of<Record>& out, RecordKey key, std::span<const std::byte> bytes) {
  out.emplace_back(key, Record());
  return hb::msg::decode_into(bytes, out.back().second).has_value();
}

bool add(RecordSet& set, RecordKey key, std::span<const std::byte> bytes) {
  switch (key.kind) {
    case RecordKind::kFloors:
      return add(set.floors, key, bytes);
    case RecordKind::kSession:
      return add(set.sessions, key, bytes);
    case RecordKind::kAnswer:
      return add(set.answers, key, bytes);
    case RecordKind::kExport:
      return add(set.exports, key, bytes);
    case RecordKind::kChunks:
    case RecordKind::kStagedChunks:
      return add(set.chunks, key, bytes);
    case RecordKind::kStaging:
      return add(set.stagings, key, bytes);
    case RecordKind::kAllocation:
      return add(set.allocations, key, bytes);
    case RecordKind::kLease:
      return add(set.leases, key, bytes);
    case RecordKind::kTicket:
      return add(set.tickets, key, bytes);
    case RecordKind::kGroup:
      return add(set.groups, key, bytes);
    case RecordKind::kWait:
      return add(set.waits, key, bytes);
  }
  return false;
}

void end_everything(Broker& broker) {
  Effects effects;
  std::vector<HandleId> handles;
  for (const Broker::Held& held : broker.held()) handles.push_back(held.handle);
  broker.lose_events(effects);
  broker.lose_handles(handles, 2000, 1000, effects);
  HB_REQUIRE(check_invariants(broker).empty());
  for (const Broker::Restored& session : broker.sessions()) {
    static_cast<void>(broker.words_of(session.id));
    broker.apply(session.id, 0, 7, CancelRequest{1}, 1000, effects);
    broker.disconnect(session.id, 1000, effects);
    HB_REQUIRE(check_invariants(broker).empty());
  }
  broker.tick(kNever - 1, effects);
  HB_REQUIRE(check_invariants(broker).empty());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  RecordSet set;
  std::span<const std::uint8_t> rest(data, size);
  while (rest.size() >= 6) {
    const RecordKey key{static_cast<RecordKind>(rest[0]), static_cast<std::uint32_t>(rest[1] | rest[2] << 8),
                        rest[3]};
    const std::size_t length = std::min<std::size_t>(rest[4] | rest[5] << 8, rest.size() - 6);
    if (!add(set, key, std::as_bytes(rest.subspan(6, length)))) return 0;
    rest = rest.subspan(6 + length);
  }
  BrokerConfig config;
  config.fd_limit = 4096;
  config.records = true;
  Broker broker(config);
  if (!broker.restore(set, 1000).empty()) return 0;
  HB_REQUIRE(check_invariants(broker).empty());
  hb::test::RecordMemory memory;
  broker.write_changes(memory);
  end_everything(broker);
  return 0;
}
