// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "core/broker.h"

namespace hb::core {

void Broker::write_changes(RecordSink& /*sink*/) {}
std::string Broker::restore(const RecordSet& /*records*/, Time /*now*/) { return {}; }
std::vector<Broker::Restored> Broker::sessions() const { return {}; }
void Broker::note_edge(SessionId /*session*/, std::uint64_t /*edge*/) {}
std::vector<std::pair<std::uint32_t, std::uint32_t>> Broker::words_of(SessionId /*session*/) const {
  return {};
}
std::vector<Broker::Held> Broker::held() const { return {}; }
void Broker::lose_handles(const std::vector<HandleId>& /*handles*/, Time /*until*/, Time /*now*/,
                          Effects& /*out*/) {}
void Broker::await_owner(SessionId /*session*/, Time /*until*/, Time /*now*/, Effects& /*out*/) {}
std::vector<ExportId> Broker::awaited_of(SessionId /*session*/) const { return {}; }
std::uint64_t Broker::awaited() const { return 0; }
void Broker::lose_events(Effects& /*out*/) {}

}  // namespace hb::core
