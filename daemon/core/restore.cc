// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// A broker that goes on where another process left off.
#include <unordered_set>
#include <utility>

#include "core/awaiting.h"
#include "core/ending.h"
#include "core/failure.h"
#include "core/grant.h"
#include "core/group.h"
#include "core/invariants.h"
#include "core/restoring.h"
#include "core/state.h"
#include "core/waiting.h"

namespace hb::core {

namespace {

Misfit restore_all(Core& core, const RecordSet& records, Recorder& recorder) {
  if (Misfit misfit = restore_sessions(core, records); !misfit.empty()) return misfit;
  if (Misfit misfit = restore_answers(core, records); !misfit.empty()) return misfit;
  if (Misfit misfit = restore_allocations(core, records); !misfit.empty()) return misfit;
  if (Misfit misfit = restore_exports(core, records, recorder); !misfit.empty()) return misfit;
  if (Misfit misfit = restore_stagings(core, records, recorder); !misfit.empty()) return misfit;
  if (Misfit misfit = restore_tickets(core, records); !misfit.empty()) return misfit;
  if (Misfit misfit = restore_leases(core, records); !misfit.empty()) return misfit;
  if (Misfit misfit = restore_groups(core, records); !misfit.empty()) return misfit;
  return restore_waits(core, records);
}

template <class Use>
void each_restored_table(Core& core, const record::Floors& floors, Use use) {
  use(core.sessions, floors.sessions, 0);
  use(core.exports.table(), floors.exports, core.config.lost_records ? floors.export_slots : 0);
  use(core.allocations.table(), floors.allocations, 0);
  use(core.leases, floors.leases, 0);
  use(core.tickets.table(), floors.tickets, 0);
  use(core.groups.table(), floors.groups, 0);
  use(core.waits.table(), 0, 0);
}

}  // namespace

void Broker::write_changes(RecordSink& sink) { state_->recorder.write(state_->core, sink); }

std::string Broker::restore(const RecordSet& records, Time now) {
  Core& core = state_->core;
  // The clock is the node's since it was started: what comes after this moment is damaged.
  for (const auto& [key, exported] : records.exports)
    if (exported.ended > now) return text("export ", key.slot, " ended in the future");
  const record::Floors floors = records.floors.empty() ? record::Floors() : records.floors.front().second;
  each_restored_table(core, floors, [](auto& table, std::uint32_t, std::uint32_t) { table.begin_restore(); });
  if (Misfit misfit = restore_all(core, records, state_->recorder); !misfit.empty()) return misfit;
  each_restored_table(core, floors, [](auto& table, std::uint32_t use, std::uint32_t slots) {
    table.end_restore(use, slots);
  });
  return first_broken_invariant(core);
}

std::vector<Broker::Restored> Broker::sessions() const {
  const Core& core = state_->core;
  std::vector<Restored> out;
  for (std::uint32_t slot = 0; slot < core.sessions.slots(); ++slot) {
    if (!core.sessions.live(slot)) continue;
    const Session& session = core.sessions.at(slot);
    out.push_back({core.sessions.id_of(slot), session.principal, session.process, session.edge});
  }
  return out;
}

void Broker::note_edge(SessionId id, std::uint64_t edge) {
  if (Session* const session = state_->core.sessions.find(id)) session->edge = edge;
}

void Broker::note_unanswered(SessionId id, std::uint64_t request_id) {
  Session* const session = state_->core.sessions.find(id);
  if (session == nullptr || request_id == 0 || session->answers.find(request_id) != nullptr ||
      session->answers.forgotten(request_id))
    return;
  session->parked_before.push_back(request_id);
}

std::vector<std::pair<std::uint32_t, std::uint32_t>> Broker::words_of(SessionId id) const {
  const Core& core = state_->core;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> out;
  const Session* const session = core.sessions.find(id);
  if (session == nullptr) return out;
  for (std::uint32_t slot = session->leases; slot != kNoSlot; slot = core.leases.at(slot).of_session.next) {
    const Lease& lease = core.leases.at(slot);
    out.emplace_back(lease.validity_slot, word_of(core, lease));
  }
  return out;
}

std::vector<Broker::Held> Broker::held() const {
  const auto& table = state_->core.allocations.table();
  std::vector<Held> out;
  for (std::uint32_t slot = 0; slot < table.slots(); ++slot) {
    if (!table.live(slot)) continue;
    const Allocation& a = table.at(slot);
    out.push_back(
        {a.handle, a.kind, a.size_known ? a.size : 0, a.mergeable && !a.declared_by, a.device, a.inode});
  }
  return out;
}

void Broker::lose_handles(const std::vector<HandleId>& handles, Time until, Time now, Effects& out) {
  Core& core = state_->core;
  const std::unordered_set<HandleId> lost(handles.begin(), handles.end());
  Call call{core, now, out};
  lose_allocations(call, lost, until);
  call.close_gathered();
}

void Broker::await_owner(SessionId id, Time until, Time now, Effects& out) {
  Core& core = state_->core;
  Session* const session = core.sessions.find(id);
  if (session == nullptr) return;
  session->ending = true;
  Call call{core, now, out};
  leave_groups(call, *session);
  while (session->waits != kNoSlot) static_cast<void>(take_wait(core, session->waits));
  drop_holdings(call, *session);
  while (session->exports != kNoSlot) await(call, session->exports, until);
  end_session(call, id.slot());
}

std::vector<ExportId> Broker::awaited_of(SessionId id) const {
  const Core& core = state_->core;
  std::vector<ExportId> out;
  const Session* const session = core.sessions.find(id);
  if (session == nullptr) return out;
  for (std::uint32_t slot = session->exports; slot != kNoSlot; slot = core.exports.at(slot).of_session.next) {
    const Export& e = core.exports.at(slot);
    if (e.life != nullptr && e.life->awaited) out.push_back(core.exports.id_of(slot));
  }
  return out;
}

std::uint64_t Broker::awaited() const { return state_->core.awaited; }

void Broker::lose_events(Effects& out) {
  Core& core = state_->core;
  for (std::uint32_t slot = 0; slot < core.sessions.slots(); ++slot) {
    if (!core.sessions.live(slot) || !std::as_const(core.sessions).at(slot).subscribed) continue;
    Session& session = core.sessions.at(slot);
    session.events_lost = true;
    session.rung = true;
    out.emplace_back(Ring{core.sessions.id_of(slot)});
  }
}

}  // namespace hb::core
