// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "core/ending.h"

#include <algorithm>
#include <utility>

#include "core/awaiting.h"
#include "core/event_table.h"
#include "core/quota.h"
#include "core/staging.h"
#include "core/ticket.h"
#include "core/waiting.h"

namespace hb::core {

void drop_holdings(Call& call, Session& session) {
  while (!session.stagings.empty()) drop_staging(call, session, session.stagings.back().get());
  while (session.leases != kNoSlot) end_lease(call, session.leases);
}

void end_session(Call& call, std::uint32_t slot) {
  Core& core = call.core;
  Session& session = core.sessions.at(slot);
  while (session.events != kNoSlot) drop_event(core, session.events);
  call.close_gathered();
  close_account(core, session);
  core.sessions.erase(slot);
}

void end_lease(Call& call, std::uint32_t slot) {
  Core& core = call.core;
  const Lease& lease = core.leases.at(slot);
  Session& session = core.sessions.at(lease.session);
  const std::uint32_t export_slot = lease.exported;
  Export& exported = core.exports.at(export_slot);
  if (!session.ending)
    call.out.emplace_back(SetValidity{core.sessions.id_of(lease.session), lease.validity_slot, 0});
  if (lease.pending != kNoSlot) drop_event(core, lease.pending);
  note_departure(core, slot);
  const bool was_asked = lease.unmap_asked;
  const LeaseId id = core.leases.id_of(slot);
  const std::uint64_t acked = lease.acked_step;
  if (lease.pins) --exported.life->pinning;
  note_released(call, lease);
  session.validity.give_back(lease.validity_slot);
  give_back(core, session, Resource::kLeases);
  unlink<&Lease::of_session>(core.leases, session.leases, slot);
  unlink<&Lease::of_export>(core.leases, exported.leases, slot);
  --exported.lease_count;
  core.leases.erase(slot);
  if (was_asked) note_unmapped(call, export_slot);
  if (exported.life != nullptr && exported.life->waits != kNoSlot) {
    refuse_steps_of(call, export_slot, id);
    note_acked(call, export_slot, acked, kNever);
  }
  settle_end(call, export_slot);
}

void settle_end(Call& call, std::uint32_t slot) {
  Core& core = call.core;
  Export& e = core.exports.at(slot);
  if (!has_ended(e.state)) return;
  if (!e.is_pinned()) release_chunks(call, slot);
  if (e.is_held()) return;
  answer_drains(call, slot, false);
  core.exports.remember(slot, call.now);
}

void release_chunks(Call& call, std::uint32_t slot) {
  Export& e = call.core.exports.at(slot);
  for (const Chunk& chunk : e.chunks.all()) drop_chunk(call, e.account, chunk.allocation);
  give_back(call.core, e.account, Resource::kChunks, e.chunks.all().size());
  const ChunkList released = std::move(e.chunks);
  static_cast<void>(released);
  e.chunks_changed = true;
}

void clear_word(Call& call, std::uint32_t lease_slot) {
  Lease& lease = call.core.leases.at(lease_slot);
  lease.current = false;
  if (!call.core.sessions.at(lease.session).ending)
    call.out.emplace_back(SetValidity{call.core.sessions.id_of(lease.session), lease.validity_slot, 0});
}

void clear_words(Call& call, std::uint32_t export_slot) {
  Core& core = call.core;
  for (std::uint32_t slot = core.exports.at(export_slot).leases; slot != kNoSlot;
       slot = core.leases.at(slot).of_export.next) {
    clear_word(call, slot);
  }
}

void link_owner(Core& core, std::uint32_t slot, std::uint32_t session) {
  core.exports.at(slot).session = session;
  core.exports.note_owned(slot);
  link_front<&Export::of_session>(core.exports.table(), core.sessions.at(session).exports, slot);
}

void unlink_owner(Core& core, std::uint32_t slot) {
  Export& e = core.exports.at(slot);
  unlink<&Export::of_session>(core.exports.table(), core.sessions.at(e.session).exports, slot);
  e.session = kNoSlot;
}

void keep_owner(Core& core, std::uint32_t slot) {
  const Export& e = core.exports.at(slot);
  if (e.session == kNoSlot) return;
  const Session& owner = core.sessions.at(e.session);
  ExportLife& life = core.exports.life_of(slot);
  life.owner = owner.process;
  life.owner_session = core.sessions.id_of(e.session);
  life.owner_gid = owner.principal.gid;
}

void stop_linger(Core& core, ExportLife& life) {
  if (life.linger_ticket != kNoSlot) core.deadlines.erase(life.linger_ticket);
  life.linger_ticket = kNoSlot;
  life.linger_end = kNever;
}

void drop_changes_of(Call& call, std::uint32_t slot) {
  const std::uint32_t owner = call.core.exports.at(slot).session;
  if (owner == kNoSlot) return;
  Session& session = call.core.sessions.at(owner);
  const auto found = std::find_if(session.stagings.begin(), session.stagings.end(), [slot](const auto& own) {
    return own->exported == slot && own->change != ChangeRequest::Kind::kNone;
  });
  if (found != session.stagings.end()) drop_staging(call, session, found->get());
}

namespace {

EventKind event_of_end(ExportState from, ExportState as) {
  if (as == ExportState::kWithdrawn) return EventKind::kWithdrawn;
  if (as == ExportState::kRevoked) return EventKind::kRevoked;
  return from == ExportState::kOrphaned ? EventKind::kGone : EventKind::kOwnerDied;
}

}  // namespace

void end_export(Call& call, std::uint32_t slot, ExportState as) {
  Core& core = call.core;
  Export& e = core.exports.at(slot);
  const EventKind told = event_of_end(e.state, as);
  drop_changes_of(call, slot);
  if (e.session != kNoSlot) end_groups_of(call, slot, as);
  refuse_waits(call, slot, as);
  // What sleeps has nothing that could be pinned.
  if (e.state == ExportState::kSuspended) drop_pins(call, slot, TicketEnd::kAsleep);
  if (e.is_held()) {
    ExportLife& life = core.exports.life_of(slot);
    keep_owner(core, slot);
    life.ended_size = e.size();
    life.ended_chunks =
        e.state == ExportState::kSuspended ? life.suspended_sizes.size() : e.chunks.all().size();
    life.unmap_asked = 0;
  }
  stop_awaiting(call, slot);
  if (e.life != nullptr) stop_linger(core, *e.life);
  clear_words(call, slot);
  // An orphan that nobody claimed is gone; of a lifetime that ends with the owner, the death is the end.
  if (told == EventKind::kOwnerDied) e.lifetime = Lifetime::kOwner;
  for (std::uint32_t lease = e.leases; lease != kNoSlot; lease = core.leases.at(lease).of_export.next) {
    core.leases.at(lease).unmap_asked = false;
    tell_holder(call, lease, told);
  }
  if (e.session != kNoSlot) {
    if (as == ExportState::kRevoked) tell_owner(call, slot, told);
    unlink_owner(core, slot);
  }
  core.exports.set_state(slot, as);
  give_back(core, e.account, Resource::kExports);
  settle_end(call, slot);
}

void leave_export(Call& call, std::uint32_t slot) {
  Core& core = call.core;
  Export& e = core.exports.at(slot);
  if (e.lifetime == Lifetime::kOwner || e.state == ExportState::kSuspended)
    return end_export(call, slot, ExportState::kGone);
  drop_changes_of(call, slot);
  keep_owner(core, slot);
  unlink_owner(core, slot);
  core.exports.set_state(slot, ExportState::kOrphaned);
  for (std::uint32_t lease = e.leases; lease != kNoSlot; lease = core.leases.at(lease).of_export.next)
    tell_holder(call, lease, EventKind::kOwnerDied);
  if (e.lifetime == Lifetime::kPersist) return;
  ExportLife& life = core.exports.life_of(slot);
  life.linger_end = life.linger_ns > kNever - call.now ? kNever : call.now + life.linger_ns;
  if (life.linger_end != kNever)
    life.linger_ticket = core.deadlines.insert(life.linger_end, {Deadline::Kind::kLinger, slot});
}

void expire_orphan(Call& call, std::uint32_t slot) {
  call.core.exports.life_of(slot).linger_ticket = kNoSlot;  // it was taken out of the queue
  end_export(call, slot, ExportState::kGone);
}

void drop_staging(Call& call, Session& session, Staging* staging) {
  Core& core = call.core;
  for (const Chunk& chunk : staging->chunks) drop_chunk(call, session.account, chunk.allocation);
  core.fds.settle(staging->handles_to_come);
  break_promise(core, session, promise_of(*staging));
  if (staging->change == ChangeRequest::Kind::kNone) {
    core.exports.acls().drop(staging->acl);
    core.exports.placements().drop(staging->placement);
    core.exports.at(staging->exported).session = kNoSlot;
    core.exports.discard(staging->exported);
  }
  std::erase_if(session.stagings, [&](const auto& own) { return own.get() == staging; });
}

namespace {

// The list that a wait is on, where it is not a line of names. Groups keep their members' waits themselves.
std::uint32_t* list_of(Core& core, const Wait& wait) {
  const auto of_export = [&](std::uint32_t slot) { return &core.exports.life_of(slot).waits; };
  if (const auto* drain = std::get_if<DrainWait>(&wait.what)) return of_export(drain->exported);
  if (const auto* step = std::get_if<StepWait>(&wait.what)) return of_export(step->exported);
  if (const auto* acks = std::get_if<AcksWait>(&wait.what)) return of_export(acks->exported);
  return nullptr;
}

}  // namespace

Wait take_wait(Core& core, std::uint32_t slot) {
  const Wait& wait = core.waits.at(slot);
  Session& session = core.sessions.at(wait.session);
  if (wait.ticket != kNoSlot) core.deadlines.erase(wait.ticket);
  give_back(core, session, Resource::kWaits);
  unlink<&Wait::of_session>(core.waits.table(), session.waits, slot);
  if (wait.acquire() != nullptr) return core.waits.remove(slot);
  if (std::uint32_t* const list = list_of(core, wait))
    unlink<&Wait::of_line>(core.waits.table(), *list, slot);
  Wait taken = std::move(core.waits.at(slot));
  core.waits.table().erase(slot);
  return taken;
}

void end_scope(Call& call, ScopeId scope) {
  Core& core = call.core;
  for (std::uint32_t slot = 0; slot < core.exports.table().slots(); ++slot) {
    if (!core.exports.table().live(slot) || core.exports.at(slot).scope != scope) continue;
    // Tickets first: they would keep the memory of what ends.
    drop_pins(call, slot, TicketEnd::kRevoked);
    if (core.exports.table().live(slot) && is_current(core.exports.at(slot).state))
      end_export(call, slot, ExportState::kRevoked);
  }
  for (std::uint32_t slot = 0; slot < core.accounts.table().slots(); ++slot)
    if (core.accounts.table().live(slot) && core.accounts.at(slot).scope == scope)
      core.exports.forget_ends_of(slot);
  call.close_gathered();
}

}  // namespace hb::core
