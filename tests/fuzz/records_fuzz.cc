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

namespace {

using namespace hb::core;  // NOLINT: the names of one small program

// The clock is that of the records: it never goes back.
constexpr Time kNow = Time{1} << 62;

void end_everything(Broker& broker) {
  Effects effects;
  std::vector<HandleId> handles;
  for (const Broker::Held& held : broker.held()) handles.push_back(held.handle);
  broker.lose_events(effects);
  broker.lose_handles(handles, kNow + 1000, kNow, effects);
  HB_REQUIRE(check_invariants(broker).empty());
  for (const Broker::Restored& session : broker.sessions()) {
    static_cast<void>(broker.words_of(session.id));
    broker.apply(session.id, 0, 7, CancelRequest{1}, kNow, effects);
    broker.disconnect(session.id, kNow, effects);
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
    if (!hb::restart::decode_record(set, key, std::as_bytes(rest.subspan(6, length))).empty()) return 0;
    rest = rest.subspan(6 + length);
  }
  BrokerConfig config;
  config.fd_limit = 4096;
  config.records = true;
  Broker broker(config);
  if (!broker.restore(set, kNow).empty()) return 0;
  HB_REQUIRE(check_invariants(broker).empty());
  hb::test::RecordMemory memory;
  broker.write_changes(memory);
  end_everything(broker);
  return 0;
}
