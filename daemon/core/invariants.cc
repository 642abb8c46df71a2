// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "core/invariants.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "core/failure.h"
#include "wire/limits.h"

namespace hb::core {

namespace {

using Verdict = std::string;  // empty: it holds

template <class Table, class Check>
Verdict each(const Table& table, Check check) {
  for (std::uint32_t slot = 0; slot < table.slots(); ++slot) {
    if (!table.live(slot)) continue;
    if (Verdict verdict = check(slot, table.at(slot)); !verdict.empty()) return verdict;
  }
  return {};
}

template <auto Member, class Table, class Check>
Verdict along(const Table& table, std::uint32_t head, std::uint64_t& length, Check check) {
  std::uint32_t before = kNoSlot;
  for (std::uint32_t slot = head; slot != kNoSlot; slot = (table.at(slot).*Member).next) {
    if (!table.live(slot)) return text("a list leads to the free slot ", slot);
    if ((table.at(slot).*Member).previous != before) return text("list broken at slot ", slot);
    if (Verdict verdict = check(table.at(slot)); !verdict.empty()) return verdict;
    before = slot;
    if (++length > table.size()) return "a list is longer than its table";
  }
  return {};
}

// Chunks an allocation is counted by.
using References = std::unordered_map<std::uint64_t, std::uint64_t>;

Verdict check_chunks(const Core& core, std::span<const Chunk> chunks, std::uint32_t slot,
                     References& references) {
  std::uint64_t start = 0;
  for (const Chunk& chunk : chunks) {
    const Allocation* allocation = core.allocations.find(chunk.allocation);
    if (allocation == nullptr) return text("export ", slot, " uses an allocation that has ended");
    if (chunk.start != start || chunk.size == 0) return text("export ", slot, " has a gap at ", start);
    if (chunk.offset > allocation->size || chunk.size > allocation->size - chunk.offset)
      return text("a chunk of export ", slot, " leaves its object");
    start += chunk.size;
    ++references[chunk.allocation.value];
  }
  return {};
}

Verdict check_held(const Core& core, std::uint32_t slot, const Export& e, References& references) {
  if (e.generation == 0 || e.layout_version == 0) return text("export ", slot, " without version");
  if (e.access == Access::kNone) return text("export ", slot, " gives nothing");
  if (e.chunks.all().empty()) return text("export ", slot, " is empty");
  if (e.max_size() != 0 && e.chunks.bytes() > e.max_size())
    return text("export ", slot, " has outgrown its maximum");
  return check_chunks(core, e.chunks.all(), slot, references);
}

Verdict check_owner(const Core& core, std::uint32_t slot, const Export& e) {
  if (!core.sessions.live(e.session)) return text("export ", slot, " has no session");
  if (core.sessions.at(e.session).principal.uid != e.owner_uid)
    return text("export ", slot, " belongs to another uid's session");
  return {};
}

// Ended: in the line of those remembered, or held by someone.
Verdict check_ended(const Core& core, std::uint32_t slot, const Export& e, References& references) {
  if (e.session != kNoSlot) return text("ended export ", slot, " has a session");
  const bool held = e.is_held();
  if (held != (e.ended == 0)) return text("ended export ", slot, " is held and remembered, or neither");
  if (held && e.life == nullptr) return text("ended export ", slot, " does not know what it was");
  if (!held && (e.metadata || e.placement != 0 || e.life != nullptr))
    return text("remembered export ", slot, " still holds something");
  if (e.is_pinned()) return check_chunks(core, e.chunks.all(), slot, references);
  return e.chunks.all().empty() ? Verdict() : text("ended export ", slot, " still has chunks");
}

Verdict check_export(const Core& core, std::uint32_t slot, const Export& e, References& references) {
  switch (e.state) {
    case ExportState::kNew:
      return text("export ", slot, " was never finished");
    case ExportState::kLive:
      if (Verdict v = check_owner(core, slot, e); !v.empty()) return v;
      return check_held(core, slot, e, references);
    case ExportState::kOrphaned:
      if (e.session != kNoSlot) return text("orphan ", slot, " has a session");
      if (e.lifetime == Lifetime::kOwner) return text("orphan ", slot, " should have ended with its owner");
      return check_held(core, slot, e, references);
    case ExportState::kSuspended:
      if (!e.chunks.all().empty()) return text("suspended export ", slot, " has chunks");
      if (e.life->lost && !e.life->awaited) return text("nobody awaits the owner of export ", slot);
      return e.life->awaited && e.session == kNoSlot ? Verdict() : check_owner(core, slot, e);
    case ExportState::kStaging:
      if (!e.chunks.all().empty() || e.leases != kNoSlot || e.metadata || e.acl != 0 || e.placement != 0)
        return text("staging ", slot, " holds something already");
      return check_owner(core, slot, e);
    case ExportState::kGone:
    case ExportState::kWithdrawn:
    case ExportState::kRevoked:
      return check_ended(core, slot, e, references);
  }
  return text("export ", slot, " is in no state");
}

Verdict check_pins(const Core& core, std::uint32_t slot, const Export& e, std::uint64_t& on_exports) {
  if (e.life == nullptr) return {};
  std::uint64_t length = 0;
  const auto own = [&](const Ticket& ticket) -> Verdict {
    if (ticket.end != TicketEnd::kNone) return text("a ticket that has ended is on the list of ", slot);
    return ticket.exported == core.exports.id_of(slot)
               ? Verdict()
               : text("a ticket of another export is on the list of ", slot);
  };
  if (Verdict v = along<&Ticket::of_export>(core.tickets.table(), e.life->tickets, length, own); !v.empty())
    return v;
  if (length != e.life->ticket_count) return text("export ", slot, " counts its tickets wrongly");
  on_exports += length;
  std::uint64_t pinning = 0;
  for (std::uint32_t lease = e.leases; lease != kNoSlot; lease = core.leases.at(lease).of_export.next)
    pinning += core.leases.at(lease).pins ? 1 : 0;
  return pinning == e.life->pinning ? Verdict()
                                    : text("export ", slot, " counts the leases that pin it wrongly");
}

Verdict check_tickets(const Core& core) {
  std::uint64_t standing = 0;
  std::unordered_map<std::uint64_t, std::uint64_t> of_session;
  Verdict verdict = each(core.tickets.table(), [&](std::uint32_t slot, const Ticket& ticket) -> Verdict {
    if (ticket.end != TicketEnd::kNone)
      return ticket.timer == kNoSlot && ticket.process == nullptr
                 ? Verdict()
                 : text("ended ticket ", slot, " still holds something");
    ++standing;
    ++of_session[ticket.maker.value];
    const Export* const e = core.exports.find(ticket.exported);
    if (e == nullptr || e->scope != ticket.scope) return text("ticket ", slot, " is of no export");
    if (!allows(e->access, ticket.access)) return text("ticket ", slot, " gives more than its export");
    if (ticket.length == 0 || ticket.offset > e->size() || ticket.length > e->size() - ticket.offset)
      return text("ticket ", slot, " leaves its export");
    return ticket.timer == kNoSlot ? text("ticket ", slot, " has no deadline") : Verdict();
  });
  if (!verdict.empty()) return verdict;
  if (standing != core.tickets.standing()) return "count of tickets that stand";
  if (core.tickets.remembered() > limits::kEndedTickets) return "more ended tickets than allowed";
  verdict = each(core.sessions, [&](std::uint32_t slot, const Session& session) -> Verdict {
    const auto made = of_session.find(core.sessions.id_of(slot).value);
    if (session.charges.of(Resource::kTickets) != (made == of_session.end() ? 0 : made->second))
      return text("session ", slot, " is charged for other tickets");
    return {};
  });
  if (!verdict.empty()) return verdict;
  std::uint64_t on_exports = 0;
  verdict = each(core.exports.table(),
                 [&](std::uint32_t slot, const Export& e) { return check_pins(core, slot, e, on_exports); });
  if (!verdict.empty()) return verdict;
  return on_exports == standing ? Verdict() : "a ticket is on no export's list";
}

Verdict check_name(const Core& core, std::uint32_t slot, const Export& e) {
  if (e.name == kNoSlot) return {};
  const Name& name = core.exports.names().at(e.name);
  if (core.exports.find_name(e.scope, e.owner_uid, name.text) != &name)
    return text("export ", slot, " is not found by its name");
  if ((name.current == slot) != is_current(e.state)) return text("export ", slot, " bears its name wrongly");
  if ((name.staging == slot) != (e.state == ExportState::kStaging))
    return text("export ", slot, " reserves its name wrongly");
  if (e.generation > name.generation) return text("export ", slot, " is ahead of its name");
  return {};
}

Verdict check_exports(const Core& core, References& references) {
  std::uint64_t current = 0;
  std::uint64_t held = 0;
  std::uint64_t named = 0;
  std::uint64_t named_held = 0;
  const Verdict verdict = each(core.exports.table(), [&](std::uint32_t slot, const Export& e) -> Verdict {
    named += e.name != kNoSlot ? 1 : 0;
    current += is_current(e.state) ? 1 : 0;
    held += has_ended(e.state) && e.ended == 0 ? 1 : 0;
    named_held += has_ended(e.state) && e.ended == 0 && e.name != kNoSlot ? 1 : 0;
    if (Verdict v = check_name(core, slot, e); !v.empty()) return v;
    return check_export(core, slot, e, references);
  });
  if (!verdict.empty()) return verdict;
  if (current != core.exports.current()) return "count of current exports";
  if (held != core.exports.ended_held()) return "count of ended exports that are held";
  std::uint64_t records = 0;
  std::uint64_t listed = 0;
  Verdict of_names = each(core.exports.names().table(), [&](std::uint32_t slot, const Name& name) {
    records += name.records;
    return along<&Export::of_session>(core.exports.table(), name.held, listed, [&](const Export& e) {
      return e.name == slot && has_ended(e.state) && e.ended == 0
                 ? Verdict()
                 : text("an export that is not held is on the list of name ", slot);
    });
  });
  if (!of_names.empty()) return of_names;
  if (listed != named_held) return "an ended export that is held is not on the list of its name";
  return named == records ? Verdict() : "a name counts its exports wrongly";
}

Verdict check_ends(const Core& core) {
  if (core.exports.remembered() > core.exports.remembered_limit()) return "more ends remembered than allowed";
  std::uint64_t count = 0;
  Time before = 0;
  for (std::uint32_t slot = core.exports.oldest_end(); slot != kNoSlot;) {
    if (!core.exports.table().live(slot)) return "an end of no export is remembered";
    const Export& e = core.exports.at(slot);
    if (!has_ended(e.state)) return text("export ", slot, " is remembered and has not ended");
    if (e.ended < before) return "ends are remembered out of order";
    before = e.ended;
    if (++count > core.exports.remembered()) return "the line of ends is longer than their number";
    slot = e.of_session.next;
  }
  return count == core.exports.remembered() ? Verdict() : "an end is lost from the line";
}

Verdict check_range(const Export& e, std::uint32_t slot, const Lease& lease) {
  const auto chunks = e.chunks.all();
  if (chunks.empty()) return {};
  if (lease.length == 0 || lease.offset + lease.length > e.chunks.bytes())
    return text("lease ", slot, " leaves its export");
  const Chunk& first = chunks[lease.first_chunk];
  const Chunk& last = chunks[lease.first_chunk + lease.chunk_count - 1];
  if (lease.offset < first.start || lease.offset >= first.start + first.size ||
      lease.offset + lease.length <= last.start || lease.offset + lease.length > last.start + last.size)
    return text("lease ", slot, " counts the wrong chunks");
  return {};
}

Verdict check_leases(const Core& core) {
  return each(core.leases, [&](std::uint32_t slot, const Lease& lease) -> Verdict {
    if (!core.sessions.live(lease.session)) return text("lease ", slot, " has no session");
    if (!core.exports.table().live(lease.exported)) return text("lease ", slot, " has no export");
    const Export& e = core.exports.at(lease.exported);
    const Session& session = core.sessions.at(lease.session);
    if (e.scope != session.principal.scope) return text("lease ", slot, " crosses scopes");
    if (!allows(e.access, lease.access)) return text("lease ", slot, " has more access than its export");
    if (lease.layout_version > e.layout_version) return text("lease ", slot, " is ahead of its export");
    const bool lost = e.state == ExportState::kSuspended && e.life->lost;
    if (lease.current && !can_be_acquired(e.state) && !lost)
      return text("lease ", slot, " is current of what ended");
    if (lease.unmap_asked && e.state != ExportState::kSuspended)
      return text("lease ", slot, " is asked to unmap what is not asleep");
    if (lease.validity_value == 0 || (lease.validity_value & kGrownBit) != 0 ||
        !session.validity.taken(lease.validity_slot))
      return text("lease ", slot, " has no validity word");
    if (lease.pending != kNoSlot &&
        (!core.events.live(lease.pending) || core.events.at(lease.pending).lease != core.leases.id_of(slot)))
      return text("lease ", slot, " points at another's event");
    return check_range(e, slot, lease);
  });
}

// Waits that are not on a line of names are on the list of their export, or a group has them.
Verdict check_waits_of_exports(const Core& core) {
  std::uint64_t wanted = 0;
  static_cast<void>(each(core.waits.table(), [&](std::uint32_t, const Wait& wait) {
    wanted += wait.acquire() == nullptr && !std::holds_alternative<MemberWait>(wait.what) ? 1 : 0;
    return Verdict();
  }));
  std::uint64_t found = 0;
  const Verdict verdict = each(core.exports.table(), [&](std::uint32_t, const Export& e) -> Verdict {
    if (e.life == nullptr) return {};
    return along<&Wait::of_line>(core.waits.table(), e.life->waits, found,
                                 [](const Wait&) { return Verdict(); });
  });
  if (!verdict.empty()) return verdict;
  return wanted == found ? Verdict() : "a wait is on no export's list";
}

Verdict check_member(const Core& core, std::uint32_t slot, const Group& group, std::uint32_t rank,
                     const GroupMember& member) {
  if (!core.sessions.live(member.session)) return text("rank ", rank, " of group ", slot, " has no session");
  const Session& session = core.sessions.at(member.session);
  if (session.principal.uid != group.uid || session.principal.scope != group.scope)
    return text("rank ", rank, " of group ", slot, " is of another uid or scope");
  if (std::count(session.groups.begin(), session.groups.end(), Membership{slot, rank}) != 1)
    return text("rank ", rank, " of group ", slot, " is not in its session's list");
  if (group.phase == GroupPhase::kGathering && (member.wait == kNoSlot || !member.leases.empty()))
    return text("rank ", rank, " of the meeting ", slot, " does not wait, or has leases already");
  if (group.phase == GroupPhase::kEnded && member.wait != kNoSlot)
    return text("rank ", rank, " waits for group ", slot, ", which has ended");
  if (group.phase != GroupPhase::kEnded) {
    const Export* e = core.exports.find(member.offer);
    if (e == nullptr || !is_current(e->state) || e->session != member.session)
      return text("rank ", rank, " of group ", slot, " offers no export of its own");
    if (group.phase != GroupPhase::kGathering && member.arrived != (member.wait != kNoSlot))
      return text("rank ", rank, " of group ", slot, " is at the barrier and does not wait");
  }
  if (member.wait == kNoSlot) return {};
  const auto* what = core.waits.table().live(member.wait)
                         ? std::get_if<MemberWait>(&core.waits.at(member.wait).what)
                         : nullptr;
  if (what == nullptr || what->group != core.groups.id_of(slot) || what->rank != rank)
    return text("rank ", rank, " of group ", slot, " waits with another's request");
  return {};
}

Verdict check_groups(const Core& core) {
  std::uint64_t meeting = 0;
  std::uint64_t places = 0;
  std::uint64_t waits = 0;
  const Verdict verdict = each(core.groups.table(), [&](std::uint32_t slot, const Group& group) -> Verdict {
    if (group.ranks.empty()) return text("group ", slot, " has no rank");
    const bool found = core.groups.find(group.scope, group.uid, group.name) == slot;
    if (found != (group.phase != GroupPhase::kEnded)) return text("group ", slot, " bears its name wrongly");
    meeting += found ? 1 : 0;
    for (const auto& [rank, member] : group.ranks) {
      ++places;
      waits += member.wait != kNoSlot ? 1 : 0;
      if (Verdict v = check_member(core, slot, group, rank, member); !v.empty()) return v;
    }
    return {};
  });
  if (!verdict.empty()) return verdict;
  if (meeting != core.groups.meeting()) return "count of groups that meet";
  static_cast<void>(each(core.sessions, [&](std::uint32_t, const Session& session) {
    places -= session.groups.size();
    return Verdict();
  }));
  if (places != 0) return "a session is in a group that does not know it";
  static_cast<void>(each(core.waits.table(), [&](std::uint32_t, const Wait& wait) {
    waits -= std::holds_alternative<MemberWait>(wait.what) ? 1 : 0;
    return Verdict();
  }));
  return waits == 0 ? Verdict() : "a rank's request is with no group";
}

Verdict check_deadlines(const Core& core) {
  std::uint64_t timed = 0;
  static_cast<void>(each(core.waits.table(), [&](std::uint32_t, const Wait& wait) {
    timed += wait.deadline != kNever ? 1 : 0;
    return Verdict();
  }));
  static_cast<void>(each(core.exports.table(), [&](std::uint32_t, const Export& e) {
    timed += e.life != nullptr && e.life->linger_ticket != kNoSlot ? 1 : 0;
    return Verdict();
  }));
  timed += core.tickets.standing();
  return timed == core.deadlines.size() && core.deadlines.ordered() ? Verdict() : "deadlines do not match";
}

struct Sums {
  std::uint64_t exports = 0, leases = 0, events = 0, waits = 0, promised = 0, stagings = 0, timed_waits = 0;
  std::uint64_t staged_acls = 0, staged_placements = 0;
};

Verdict check_session(const Core& core, std::uint32_t slot, const Session& session, Sums& sums,
                      References& references) {
  std::uint64_t leases = 0;
  std::uint64_t waits = 0;
  const auto own = [&](const auto& entry) {
    return entry.session == slot ? Verdict()
                                 : text("an entry of session ", entry.session, " is on the list of ", slot);
  };
  if (session.ending) return text("session ", slot, " should be gone");
  if (Verdict v = along<&Export::of_session>(core.exports.table(), session.exports, sums.exports, own);
      !v.empty())
    return v;
  if (Verdict v = along<&Lease::of_session>(core.leases, session.leases, leases, own); !v.empty()) return v;
  if (Verdict v = along<&Wait::of_session>(core.waits.table(), session.waits, waits, own); !v.empty())
    return v;
  if (Verdict v = along<&PendingEvent::of_session>(core.events, session.events, sums.events, own); !v.empty())
    return v;
  if (leases != session.charges.of(Resource::kLeases) || leases != session.validity.in_use())
    return text("session ", slot, " is charged for other leases than it holds");
  if (waits != session.charges.of(Resource::kWaits))
    return text("session ", slot, " is charged for other waits");
  if (session.groups.size() != session.charges.of(Resource::kGroups))
    return text("session ", slot, " is charged for other groups");
  if (session.stagings.size() != session.charges.of(Resource::kStagings) ||
      session.stagings.size() > limits::kSessionStagings)
    return text("session ", slot, " is charged for other stagings");
  for (const auto& staging : session.stagings) {
    const Export& e = core.exports.at(staging->exported);
    const bool is_new = staging->change == ChangeRequest::Kind::kNone;
    if (e.session != slot || is_new != (e.state == ExportState::kStaging) ||
        (!is_new && e.state != ExportState::kLive && e.state != ExportState::kSuspended))
      return text("staging of session ", slot, " has no record");
    if (Verdict v = check_chunks(core, staging->chunks, staging->exported, references); !v.empty()) return v;
    sums.promised += staging->handles_to_come;
    sums.staged_acls += staging->acl != 0 ? 1 : 0;
    sums.staged_placements += staging->placement != 0 ? 1 : 0;
  }
  sums.stagings += session.stagings.size();
  sums.leases += leases;
  sums.waits += waits;
  return {};
}

Verdict check_allocations(const Core& core, const References& references) {
  std::uint64_t bytes = 0;
  std::unordered_set<std::uint64_t> handles;
  const Verdict verdict =
      each(core.allocations.table(), [&](std::uint32_t slot, const Allocation& allocation) -> Verdict {
        const auto counted = references.find(core.allocations.table().id_of(slot).value);
        if (counted == references.end() || counted->second != allocation.references)
          return text("allocation ", slot, " is counted ", allocation.references, " times");
        if (!handles.insert(allocation.handle.value).second)
          return text("handle of allocation ", slot, " is held twice");
        bytes += allocation.size;
        return {};
      });
  if (!verdict.empty()) return verdict;
  return bytes == core.allocations.bytes() ? Verdict() : "sum of allocation sizes";
}

Verdict check_interned(const Core& core, const Sums& sums) {
  std::uint64_t acls = sums.staged_acls;
  std::uint64_t placements = sums.staged_placements;
  const auto count_export = [&](std::uint32_t, const Export& e) {
    acls += e.acl != 0 ? 1 : 0;
    placements += e.placement != 0 ? 1 : 0;
    return Verdict();
  };
  static_cast<void>(each(core.exports.table(), count_export));
  if (acls != core.exports.acls().references()) return "an ACL is counted wrongly";
  if (placements != core.exports.placements().references()) return "a placement is counted wrongly";
  return {};
}

}  // namespace

std::string first_broken_invariant(const Core& core) {
  std::unordered_map<std::uint64_t, std::uint64_t> references;
  Sums sums;
  if (Verdict v = check_exports(core, references); !v.empty()) return v;
  if (Verdict v = check_ends(core); !v.empty()) return v;
  if (Verdict v = check_leases(core); !v.empty()) return v;
  if (Verdict v = first_broken_lease_set(core); !v.empty()) return v;
  if (Verdict v = check_tickets(core); !v.empty()) return v;
  const Verdict verdict = each(core.sessions, [&](std::uint32_t slot, const Session& session) {
    return check_session(core, slot, session, sums, references);
  });
  if (!verdict.empty()) return verdict;
  if (Verdict v = check_allocations(core, references); !v.empty()) return v;
  if (Verdict v = check_interned(core, sums); !v.empty()) return v;
  if (Verdict v = check_accounts(core); !v.empty()) return v;
  if (sums.events != core.events.size()) return "an event is on no session's list";
  if (sums.leases != core.leases.size()) return "a lease is on no session's list";
  if (sums.waits != core.waits.size()) return "a wait is on no session's list";
  std::uint64_t for_names = 0;
  static_cast<void>(each(core.waits.table(), [&](std::uint32_t, const Wait& wait) {
    for_names += wait.acquire() != nullptr ? 1 : 0;
    return Verdict();
  }));
  if (core.waits.in_lines() != for_names) return "a wait for a name is in no line";
  if (Verdict v = check_waits_of_exports(core); !v.empty()) return v;
  if (sums.promised != core.fds.promised()) return "descriptors promised to no staging";
  if (Verdict v = check_groups(core); !v.empty()) return v;
  if (Verdict v = check_deadlines(core); !v.empty()) return v;
  std::uint64_t on_exports = 0;
  return each(core.exports.table(), [&](std::uint32_t slot, const Export& e) -> Verdict {
    const std::uint64_t before = on_exports;
    const auto own = [&](const Lease& lease) {
      return lease.exported == slot ? Verdict() : text("a lease of another export is on the list of ", slot);
    };
    if (Verdict v = along<&Lease::of_export>(core.leases, e.leases, on_exports, own); !v.empty()) return v;
    std::uint64_t asked = 0;
    for (std::uint32_t lease = e.leases; lease != kNoSlot; lease = core.leases.at(lease).of_export.next)
      asked += core.leases.at(lease).unmap_asked ? 1 : 0;
    if (e.life != nullptr && asked != e.life->unmap_asked)
      return text("export ", slot, " counts those who have to unmap wrongly");
    return on_exports - before == e.lease_count ? Verdict()
                                                : text("export ", slot, " counts its leases wrongly");
  });
}

}  // namespace hb::core
