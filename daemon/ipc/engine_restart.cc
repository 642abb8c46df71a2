// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// The engine at a start that goes on from an earlier daemon, and what a restart would mean now.
#include <algorithm>
#include <string>
#include <unordered_map>
#include <utility>
#include <variant>

#include "ipc/engine.h"
#include "os/handle_probe.h"

namespace hb::ipc {
namespace {

// The lifetime that a request asks for.
std::optional<core::Lifetime> lifetime_in(const core::Request& request) {
  if (const auto* exported = std::get_if<core::ExportRequest>(&request)) return exported->lifetime;
  if (const auto* claim = std::get_if<core::ClaimRequest>(&request)) return claim->lifetime;
  if (const auto* reoffer = std::get_if<core::ReofferRequest>(&request)) return reoffer->lifetime;
  return std::nullopt;
}

bool is_same(const core::HandleFacts& found, const core::Broker::Held& known) {
  if (found.kind != known.kind) return false;
  if (found.size_known && found.size != known.size) return false;
  return !known.identity_known ||
         (found.identity_known && found.device == known.device && found.inode == known.inode);
}

}  // namespace

std::string Engine::restore(const core::RecordSet& records, const core::record::Floors& floors) {
  std::string wrong = broker_->restore(records, monotonic_now());
  if (wrong.empty()) return wrong;
  config_.lost_records = true;
  broker_ = std::make_unique<core::Broker>(config_);
  core::RecordSet nothing;
  nothing.floors.emplace_back(core::RecordKey{core::RecordKind::kFloors, 0, 0}, floors);
  if (const std::string again = broker_->restore(nothing, monotonic_now()); !again.empty()) {
    broker_ = std::make_unique<core::Broker>(config_);
    wrong += "; " + again;
  }
  return wrong;
}

std::vector<core::HandleId> Engine::adopt_handles(std::vector<restart::Restored>& parked) {
  std::unordered_map<std::uint64_t, core::Broker::Held> missing;
  for (const core::Broker::Held& held : broker_->held()) missing.emplace(held.handle.value, held);
  for (restart::Restored& one : parked) {
    if (one.entry.kind != restart::ParkedKind::kHandle || !one.fd) continue;
    const auto known = missing.find(one.entry.id);
    if (known == missing.end()) continue;
    const core::Broker::Held& held = known->second;
    auto facts = os::probe_handle(one.fd, drivers_);
    if (!facts || !is_same(*facts, held)) continue;
    facts->id = held.handle;
    if (handles_.restore(one.fd, *facts)) missing.erase(known);
  }
  handles_.finish_restoring();
  std::vector<core::HandleId> lost;
  lost.reserve(missing.size());
  for (const auto& [id, held] : missing) lost.push_back(held.handle);
  return lost;
}

void Engine::lose_handles(const std::vector<core::HandleId>& missing, core::Time until) {
  if (missing.empty()) return;
  broker_->lose_handles(missing, until, monotonic_now(), effects_);
  carry_out();
}

void Engine::resume(const core::Broker::Restored& session, Recipient& recipient) {
  const std::string scope = session.process ? session.process->scope_name : std::string();
  sessions_.emplace(session.id, Live{&recipient, scope});
}

void Engine::await_owner(core::SessionId session, core::Time until) {
  broker_->await_owner(session, until, monotonic_now(), effects_);
  carry_out();
}

void Engine::lose_events() {
  set_terms();
  broker_->lose_events(effects_);
  carry_out();
}

void Engine::note_edge(core::SessionId session, std::uint64_t edge) {
  broker_->note_edge(session, edge);
  continuity_->settle(*broker_);
}

std::optional<EdgeError> Engine::refuse_early(core::SessionId session, const core::Request& request) const {
  const bool is_export = std::holds_alternative<core::ExportRequest>(request);
  if (is_export && draining_) {
    return edge_error(HB_BUSY,
                      "hipbrokerd is drained before a restart and takes no new exports; try again when it was "
                      "started anew, or hipbrokerctl drain --off");
  }
  if (lifetime_in(request) == core::Lifetime::kPersist && !continuity_->has_store()) {
    // Who has no right to it hears that.
    const core::Principal* principal = broker_->principal_of(session);
    if (principal == nullptr || !principal->rights.allows(core::Verb::kPersist)) return std::nullopt;
    return edge_error(HB_UNSUPPORTED,
                      "lifetime persist needs a descriptor store, and this daemon has none (" +
                          continuity_->why_no_store() +
                          "): run it as a systemd service on the host, or take linger");
  }
  return std::nullopt;
}

void Engine::add_restart_counters(EdgeCounters& counters) const {
  Continuity::State state = continuity_->state();
  counters.restart_safe = state.safe;
  counters.restart_reason = std::move(state.reason);
  counters.parked = state.parked;
  counters.parked_limit = state.parked_limit;
  counters.store_entries = state.store_entries;
  counters.store_entries_max = state.store_entries_max;
  counters.records = state.records;
  counters.records_bytes = state.records_bytes;
  counters.restarts = state.restarts;
  counters.awaited = broker_->awaited();
  counters.draining = draining_;
}

// Asked as the admin asks: seldom, and only where something is not parked.
std::uint64_t Engine::unsafe_exports(core::SessionId admin) {
  std::uint64_t count = 0;
  core::Effects answers;
  const auto ask = [&](FrameType type, core::Request request) -> const core::ReplyBody* {
    answers.clear();
    broker_->apply(admin, 1, static_cast<std::uint16_t>(type), std::move(request), monotonic_now(), answers);
    for (const core::Effect& effect : answers)
      if (const auto* reply = std::get_if<core::Reply>(&effect)) return &reply->body;
    return nullptr;
  };
  core::ListRequest page;
  do {
    const auto* body = ask(FrameType::kList, page);
    const auto* listed = body == nullptr ? nullptr : std::get_if<core::Listed>(body);
    if (listed == nullptr) break;
    page.cursor = listed->next_cursor;
    std::vector<core::ExportId> ids;
    for (const core::ExportInfo& info : listed->exports) ids.push_back(info.view.id);
    for (const core::ExportId id : ids) {
      const auto* shown = ask(FrameType::kShow, core::ShowRequest{id, 0});
      const auto* one = shown == nullptr ? nullptr : std::get_if<core::Shown>(shown);
      if (one != nullptr && is_unsafe(one->info)) ++count;
    }
  } while (page.cursor != 0);
  return count;
}

bool Engine::is_unsafe(const core::ExportInfo& info) const {
  return std::any_of(info.handles.begin(), info.handles.end(),
                     [this](core::HandleId handle) { return !continuity_->is_parked(handle); });
}

Engine::Losses Engine::losses(core::SessionId admin) {
  Losses losses;
  const core::Counters counters = broker_->counters();
  losses.uploads = counters.stagings;
  if (!continuity_->has_store()) {
    losses.exports = counters.exports;
  } else if (continuity_->unparked() != 0) {
    losses.exports = unsafe_exports(admin);
  }
  for (const auto& [id, live] : sessions_) {
    const core::Principal* principal = broker_->principal_of(id);
    if (principal != nullptr && !principal->admin && !live.recipient->outlives()) ++losses.sessions;
  }
  return losses;
}

}  // namespace hb::ipc
