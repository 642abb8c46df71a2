// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include <algorithm>
#include <utility>

#include "core/event_table.h"
#include "core/failure.h"
#include "core/quota.h"
#include "core/verbs.h"
#include "wire/limits.h"

namespace hb::core {

namespace {

bool is_end(EventKind kind) {
  return kind == EventKind::kWithdrawn || kind == EventKind::kRevoked || kind == EventKind::kGone;
}

void merge(PendingEvent& event, EventKind kind, ChunkRun chunks, bool ends) {
  if (ends) {
    event.end = kind;
    event.sleep = event.owner = EventKind::kNone;
    event.grown = false;
    event.replaced = {};
    return;
  }
  switch (kind) {
    case EventKind::kGrown:
      event.grown = true;
      break;
    case EventKind::kReplaced: {
      if (event.replaced.count == 0) {
        event.replaced = chunks;
        break;
      }
      const std::uint64_t first = std::min(event.replaced.first, chunks.first);
      const std::uint64_t end =
          std::max(event.replaced.first + event.replaced.count, chunks.first + chunks.count);
      event.replaced = {first, end - first};
      break;
    }
    case EventKind::kSuspended:
    case EventKind::kResumed:
      event.sleep = kind;
      event.grown = false;
      event.replaced = {};
      break;
    default:
      event.owner = kind;
      break;
  }
}

bool is_empty(const PendingEvent& event) {
  return event.end == EventKind::kNone && event.sleep == EventKind::kNone &&
         event.owner == EventKind::kNone && !event.grown && event.replaced.count == 0;
}

// At the end of the session's list. None: there is no room, and it will be told that it lost some.
std::uint32_t add_entry(Call& call, std::uint32_t session_slot) {
  Core& core = call.core;
  Session& session = core.sessions.at(session_slot);
  if (charge(core, session, Resource::kEvents)) {
    session.events_lost = true;
    return kNoSlot;
  }
  const std::uint32_t slot = core.events.emplace();
  PendingEvent& event = core.events.at(slot);
  event.session = session_slot;
  event.since = call.now;
  event.of_session = {session.last_event, kNoSlot};
  if (session.last_event != kNoSlot)
    core.events.at(session.last_event).of_session.next = slot;
  else
    session.events = slot;
  session.last_event = slot;
  return slot;
}

void ring(Call& call, std::uint32_t session_slot) {
  Session& session = call.core.sessions.at(session_slot);
  if (!session.subscribed || session.rung || session.ending) return;
  session.rung = true;
  call.out.emplace_back(Ring{call.core.sessions.id_of(session_slot)});
}

// Everything of one entry, in the order in which a holder has to learn it.
void put(const Core& core, const PendingEvent& pending, std::vector<Event>& out) {
  Event event;
  event.lease = pending.lease;
  event.exported = pending.exported;
  event.generation = pending.generation;
  event.layout_version = pending.layout_version;
  if (pending.lease) {
    const Export& e = core.exports.at(core.leases.at(pending.lease.slot()).exported);
    event.generation = e.generation;
    event.layout_version = e.layout_version;
    event.size = has_ended(e.state) ? 0 : e.size();
  }
  const auto one = [&](EventKind kind, ChunkRun chunks = {}) {
    event.kind = kind;
    event.chunks = chunks;
    out.push_back(event);
  };
  // A new owner is there before what it changes, growth and replacement that are left came after the sleep,
  // and an orphan does not change any more.
  if (pending.owner == EventKind::kClaimed) one(pending.owner);
  if (pending.sleep != EventKind::kNone) one(pending.sleep);
  if (pending.replaced.count != 0) one(EventKind::kReplaced, pending.replaced);
  if (pending.grown) one(EventKind::kGrown);
  if (pending.owner == EventKind::kOwnerDied) one(pending.owner);
  if (pending.end != EventKind::kNone) one(pending.end);
}

}  // namespace

void tell_holder(Call& call, std::uint32_t lease_slot, EventKind kind, ChunkRun chunks) {
  Core& core = call.core;
  Lease& lease = core.leases.at(lease_slot);
  if (core.sessions.at(lease.session).ending) return;
  if (lease.pending == kNoSlot) {
    lease.pending = add_entry(call, lease.session);
    if (lease.pending == kNoSlot) return ring(call, lease.session);
    PendingEvent& event = core.events.at(lease.pending);
    event.lease = core.leases.id_of(lease_slot);
    event.exported = core.exports.id_of(lease.exported);
  }
  const bool owner_ended_it =
      kind == EventKind::kOwnerDied && core.exports.at(lease.exported).lifetime == Lifetime::kOwner;
  merge(core.events.at(lease.pending), kind, chunks, is_end(kind) || owner_ended_it);
  ring(call, lease.session);
}

void tell_owner(Call& call, std::uint32_t export_slot, EventKind kind) {
  Core& core = call.core;
  const Export& e = core.exports.at(export_slot);
  Session& owner = core.sessions.at(e.session);
  // Leases bound what holders are told; an owner can export and lose without end.
  if (owner.ending || owner.losses == limits::kSessionLosses) return;
  const std::uint32_t slot = add_entry(call, e.session);
  if (slot == kNoSlot) return ring(call, e.session);
  ++owner.losses;
  PendingEvent& event = core.events.at(slot);
  event.exported = core.exports.id_of(export_slot);
  event.generation = e.generation;
  event.layout_version = e.layout_version;
  event.end = kind;
  ring(call, e.session);
}

void forget_layout_events(Core& core, std::uint32_t lease_slot) {
  const std::uint32_t slot = core.leases.at(lease_slot).pending;
  if (slot == kNoSlot) return;
  PendingEvent& event = core.events.at(slot);
  event.grown = false;
  event.replaced = {};
  event.sleep = EventKind::kNone;
  if (event.owner == EventKind::kClaimed) event.owner = EventKind::kNone;
  if (is_empty(event)) drop_event(core, slot);
}

void drop_event(Core& core, std::uint32_t slot) {
  const PendingEvent& event = core.events.at(slot);
  Session& session = core.sessions.at(event.session);
  if (Lease* lease = core.leases.find(event.lease)) lease->pending = kNoSlot;
  if (!event.lease) --session.losses;
  if (session.last_event == slot) session.last_event = event.of_session.previous;
  unlink<&PendingEvent::of_session>(core.events, session.events, slot);
  give_back(core, session, Resource::kEvents);
  core.events.erase(slot);
}

Outcome subscribe(Asker& asker) {
  asker.session.subscribed = true;
  asker.session.rung = false;
  // The doorbell that this makes is in place before the effect is carried out.
  Outcome outcome{Subscribed{}};
  outcome.ring = asker.session.events != kNoSlot || asker.session.events_lost;
  return outcome;
}

Outcome take_events(Call& call, Asker& asker, const TakeEventsRequest& request) {
  Core& core = call.core;
  const std::size_t most = request.max_events == 0
                               ? limits::kEventsPage
                               : std::min<std::size_t>(request.max_events, limits::kEventsPage);
  constexpr std::size_t kOfOneEntry = 4;
  EventsTaken taken;
  if (std::exchange(asker.session.events_lost, false)) {
    Event lost;
    lost.kind = EventKind::kLost;
    taken.events.push_back(lost);
  }
  while (asker.session.events != kNoSlot &&
         taken.events.size() + kOfOneEntry <= std::max(most, kOfOneEntry)) {
    const std::uint32_t slot = asker.session.events;
    put(core, core.events.at(slot), taken.events);
    drop_event(core, slot);
  }
  taken.more = asker.session.events != kNoSlot;
  if (!taken.more) asker.session.rung = false;
  return taken;
}

}  // namespace hb::core
