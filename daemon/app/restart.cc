// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "app/restart.h"

#include <sys/socket.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "app/administration_scopes.h"
#include "ipc/edge_note.h"
#include "observe/log.h"
#include "restart/crash_point.h"

namespace hb::app {
namespace {

using restart::ParkedEntry;
using restart::ParkedKind;

void warn(const std::string& text) {
  observe::log(observe::Level::kWarning, observe::Message::kRestoreRemark, text);
}

template <class Records, class Add>
void each_scope(const Records& records, Add add) {
  for (const auto& [key, record] : records) add(core::ScopeId{record.scope});
}

// Every scope that something recorded is in.
std::vector<core::ScopeId> scopes_in(const core::RecordSet& set) {
  std::vector<core::ScopeId> out;
  const auto add = [&out](core::ScopeId id) { out.push_back(id); };
  each_scope(set.sessions, add);
  each_scope(set.exports, add);
  each_scope(set.tickets, add);
  each_scope(set.groups, add);
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

}  // namespace

Restart::Restart(ipc::Continuity& continuity, std::map<std::string, std::vector<UniqueFd>> stored,
                 std::vector<UniqueFd> surplus)
    : continuity_(continuity), surplus_(std::move(surplus)) {
  restart::Parking::Back back = continuity.parking().restore(stored);
  for (const std::string& line : back.lines) warn(line);
  parked_ = std::move(back.entries);
  for (std::size_t i = 0; i < parked_.size(); ++i) place_.emplace(parked_[i].entry, i);
  for (auto& [name, fds] : stored) std::move(fds.begin(), fds.end(), std::back_inserter(surplus_));
  if (const auto* heap = continuity.heap()) records_ = restart::read_records(*heap);
  for (const std::string& line : records_.lines) warn("lost: " + line);
  if (const auto* node = continuity.node()) floors_ = restart::read_floors(*node).value_or(floors_);
  // The node's are never below those of the records: they are written first.
  records_.set.floors.clear();
  records_.set.floors.emplace_back(core::RecordKey{core::RecordKind::kFloors, 0, 0}, floors_);
}

UniqueFd Restart::take(const ParkedEntry& entry) {
  const auto found = place_.find(entry);
  return found == place_.end() ? UniqueFd() : std::move(parked_[found->second].fd);
}

UniqueFd Restart::take_listener(core::ScopeId scope) { return take({ParkedKind::kListener, scope.value, 0}); }

void Restart::restore(const Parts& parts) {
  for (const core::ScopeId id : scopes_in(records_.set)) {
    if (!id || parts.scopes.find(id) != nullptr) continue;
    unknown_scopes_.push_back(id);
    parts.engine.add_scope(id, "scope-" + std::to_string(id.value), core::LimitSet::unlimited());
  }
  const std::string wrong = parts.engine.restore(records_.set, floors_);
  const std::vector<restart::RecordKey> unreadable = std::move(records_.unreadable);
  records_ = {};  // the next transaction may move what it points into
  if (wrong.empty()) {
    if (!unreadable.empty()) continuity_.forget_records(unreadable);
    return;
  }
  continuity_.forget_records();
  observe::log(observe::Level::kError, observe::Message::kRecordsLost,
               "the records of the daemon before do not fit together (" + wrong +
                   "), so nothing of it is known: sessions end, owners that live offer their exports again");
  parts.scopes.add_all();
  unknown_scopes_.clear();
}

void Restart::resume_sessions(const Parts& parts) {
  for (core::Broker::Restored& session : parts.engine.restored_sessions()) {
    const ipc::EdgeNote edge = ipc::EdgeNote::of(session.edge);
    const std::uint64_t id = session.id.value;
    const auto scope = parts.scopes.find(session.principal.scope);
    UniqueFd socket = take({ParkedKind::kSessionSocket, id, 0});
    ipc::Session::Parked parked{take({ParkedKind::kValidityPage, id, edge.page}),
                                take({ParkedKind::kDoorbell, id, edge.doorbell})};
    if (!edge.resumes || scope == nullptr) {
      if (socket) surplus_.push_back(std::move(socket));
      ended_.push_back(std::move(session));
      continue;
    }
    auto outcome = ipc::Server::Resumed::kLost;
    if (socket) {
      outcome = parts.server.resume({session, std::move(socket), std::move(parked)},
                                    {session.principal.admin, scope});
    }
    if (outcome == ipc::Server::Resumed::kGoesOn) ++resumed_;
    if (outcome == ipc::Server::Resumed::kLost) lost_.push_back(std::move(session));
    if (outcome == ipc::Server::Resumed::kEnded) ended_.push_back(std::move(session));
  }
}

// What nobody knows: a descriptor whose record was not written any more, another version's, anybody's.
void Restart::close_rest(ipc::Engine& engine) {
  for (restart::Restored& one : parked_)
    if (one.fd) surplus_.push_back(std::move(one.fd));
  if (surplus_.empty()) return;
  warn(std::to_string(surplus_.size()) +
       " descriptors that were kept belong to nothing that is known: closed");
  for (UniqueFd& fd : surplus_) {
    // A session's peer waits for an answer that will not come; on anything else this is an error.
    ::shutdown(fd.get(), SHUT_RDWR);
    engine.close_socket({}, std::move(fd), {});
  }
  surplus_.clear();
}

std::string Restart::take_over(const Parts& parts) {
  const core::Time until = ipc::monotonic_now() + parts.grace_ns;
  restore(parts);
  // First all that is wanted is taken, so that what is not can be told from it; then the core hears what is
  // missing, and does what follows of that.
  resume_sessions(parts);
  const std::vector<core::HandleId> missing = parts.engine.adopt_handles(parked_);
  parts.scopes.adopt_listeners();
  continuity_.drop_unknown();
  close_rest(parts.engine);
  restart::crash_point(restart::CrashPoint::kTakenOver);
  parts.engine.lose_handles(missing, until);
  for (const auto& session : lost_) parts.engine.await_owner(session.id, until);
  for (const auto& session : ended_) parts.engine.disconnect(session.id);
  for (const core::ScopeId scope : unknown_scopes_) parts.engine.remove_scope(scope);
  parts.scopes.park_listeners();
  parts.engine.lose_events();
  parts.server.announce_resumed(continuity_.state().restarts);
  parts.server.carry_out_left();
  if (continuity_.state().restarts == 0) return {};
  const core::Counters counters = parts.engine.counters();
  std::string line = "goes on from an earlier daemon: " + std::to_string(counters.exports) + " exports, " +
                     std::to_string(counters.leases) + " leases, " + std::to_string(resumed_) + " sessions";
  if (!missing.empty()) line += "; " + std::to_string(missing.size()) + " descriptors are lost";
  if (!lost_.empty()) line += "; " + std::to_string(lost_.size()) + " sessions have no connection any more";
  if (const std::uint64_t awaited = parts.engine.awaited(); awaited != 0)
    line += "; " + std::to_string(awaited) + " exports wait " +
            std::to_string(parts.grace_ns / 1'000'000'000) + " s for their owners";
  return line;
}

}  // namespace hb::app
