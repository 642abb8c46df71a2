// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Sessions, and what they hold: leases, tickets, places in groups, requests that wait.
#include <algorithm>
#include <utility>

#include "core/failure.h"
#include "core/quota.h"
#include "core/restoring.h"

namespace hb::core {

namespace {

// Oldest first, so that lists that grow at the front come out as they were.
template <class Record, class Before>
std::vector<std::pair<RecordKey, const Record*>> sorted(const RecordSet::Of<Record>& records, Before before) {
  std::vector<std::pair<RecordKey, const Record*>> out;
  out.reserve(records.size());
  for (const auto& [key, record] : records) out.emplace_back(key, &record);
  std::sort(out.begin(), out.end(), [&](const auto& a, const auto& b) {
    return before(*a.second, *b.second) || (!before(*b.second, *a.second) && a.first < b.first);
  });
  return out;
}

}  // namespace

Misfit restore_sessions(Core& core, const RecordSet& records) {
  for (const auto& [key, record] : records.sessions) {
    Session session;
    session.principal.scope = ScopeId{record.scope};
    session.principal.uid = record.uid;
    session.principal.gid = record.gid;
    session.principal.groups = record.groups;
    session.principal.admin = record.admin;
    session.process = process_of(record.process);
    session.connected = record.connected;
    session.subscribed = record.subscribed;
    session.edge = record.edge;
    session.parked_before = record.parked;
    session.validity.begin_behind(record.highest_word);
    session.answers.restore_forgotten(record.forgotten_answers);
    if (!session.principal.admin) {
      // A scope that the daemon does not know any more lasts until what is in it has ended.
      if (core.accounts.find_scope(session.principal.scope) == nullptr)
        core.accounts.add_scope(session.principal.scope, std::string(record.process.scope_name),
                                LimitSet::unlimited());
      session.account = core.accounts.take(session.principal.scope, session.principal.uid);
    }
    const bool admin = session.principal.admin;
    if (!core.sessions.emplace_at(SessionId::of(key.slot, record.use), std::move(session)))
      return text("two sessions in slot ", key.slot);
    if (!admin) charge_again(core, core.sessions.at(key.slot), Resource::kSessions);
  }
  return {};
}

Misfit restore_leases(Core& core, const RecordSet& records) {
  const auto older = [](const record::Lease& a, const record::Lease& b) { return a.order < b.order; };
  for (const auto& [key, record] : sorted<record::Lease>(records.leases, older)) {
    if (!core.sessions.live(record->session) || !core.exports.table().live(record->exported))
      return text("lease ", key.slot, " is of no session or no export");
    Session& session = core.sessions.at(record->session);
    Export& e = core.exports.at(record->exported);
    Lease lease;
    lease.offset = record->offset;
    lease.length = record->length;
    lease.layout_version = record->layout_version;
    lease.created = record->created;
    lease.first_chunk = record->first_chunk;
    lease.chunk_count = record->chunk_count;
    lease.session = record->session;
    lease.exported = record->exported;
    lease.validity_slot = record->validity_slot;
    lease.validity_value = record->validity_value;
    lease.acked_step = record->acked_step;
    lease.current = record->current;
    lease.follows = record->follows;
    lease.unmap_asked = record->unmap_asked;
    lease.pins = record->pins;
    lease.order = record->order;
    core.last_grant = std::max(core.last_grant, record->order);
    const std::uint64_t chunks = e.chunks.all().size();
    const bool inside = lease.first_chunk <= chunks && lease.chunk_count <= chunks - lease.first_chunk;
    if (!access_of(record->access, lease.access) || !enum_of(record->level, Level::kSealed, lease.level) ||
        (chunks != 0 && (!inside || lease.chunk_count == 0)))
      return text("lease ", key.slot, " is damaged");
    if (!core.leases.emplace_at(LeaseId::of(key.slot, record->use), lease) ||
        !session.validity.restore(lease.validity_slot, lease.validity_value))
      return text("lease ", key.slot, " is in another's place");
    link_front<&Lease::of_session>(core.leases, session.leases, key.slot);
    link_front<&Lease::of_export>(core.leases, e.leases, key.slot);
    ++e.lease_count;
    charge_again(core, session, Resource::kLeases);
    core.leases.at(key.slot).set = core.lease_sets.join(record->session, record->exported, record->created);
    if (lease.pins) ++core.exports.life_of(record->exported).pinning;
    if (lease.unmap_asked) ++core.exports.life_of(record->exported).unmap_asked;
  }
  return {};
}

Misfit restore_tickets(Core& core, const RecordSet& records) {
  const auto before = [](const record::Ticket& a, const record::Ticket& b) { return a.order < b.order; };
  for (const auto& [key, record] : sorted<record::Ticket>(records.tickets, before)) {
    Ticket ticket;
    ticket.offset = record->offset;
    ticket.length = record->length;
    ticket.made = record->made;
    ticket.deadline = record->deadline;
    ticket.maker = SessionId{record->maker};
    ticket.exported = ExportId{record->exported};
    ticket.scope = ScopeId{record->scope};
    ticket.uid = record->uid;
    ticket.gid = record->gid;
    ticket.order = record->order;
    if (!access_of(record->access, ticket.access) || !enum_of(record->end, TicketEnd::kAsleep, ticket.end))
      return text("ticket ", key.slot, " is damaged");
    const bool stands = ticket.end == TicketEnd::kNone;
    Session* const maker = core.sessions.find(ticket.maker);
    if (stands) {
      if (core.exports.find(ticket.exported) == nullptr || core.accounts.find_scope(ticket.scope) == nullptr)
        return text("ticket ", key.slot, " is of no export");
      ticket.process = maker != nullptr ? maker->process : process_of(record->process);
      ticket.account = core.accounts.take(ticket.scope, ticket.uid);
    }
    const std::uint32_t account = ticket.account;
    const Time deadline = ticket.deadline;
    const std::uint32_t exported = ticket.exported.slot();
    if (!core.tickets.restore(TicketId::of(key.slot, record->use), std::move(ticket)))
      return text("two tickets in slot ", key.slot);
    if (!stands) continue;
    if (maker != nullptr)
      charge_again(core, *maker, Resource::kTickets);
    else
      core.accounts.add(account, Resource::kTickets, 1);
    ExportLife& life = core.exports.life_of(exported);
    link_front<&Ticket::of_export>(core.tickets.table(), life.tickets, key.slot);
    ++life.ticket_count;
    core.tickets.at(key.slot).timer = core.deadlines.insert(deadline, {Deadline::Kind::kTicket, key.slot});
  }
  return {};
}

Misfit restore_groups(Core& core, const RecordSet& records) {
  for (const auto& [key, record] : records.groups) {
    Group group;
    group.scope = ScopeId{record.scope};
    group.uid = record.uid;
    group.name = record.name;
    group.attempt = record.attempt;
    group.round = record.round;
    group.end = error_of(record.end);
    if (!enum_of(record.phase, GroupPhase::kEnded, group.phase) || group.phase == GroupPhase::kGathering)
      return text("group ", key.slot, " is damaged");
    for (const record::Rank& rank : record.ranks) {
      if (!core.sessions.live(rank.session))
        return text("rank ", rank.rank, " of group ", key.slot, " is nobody");
      GroupMember member;
      member.session = rank.session;
      member.world = rank.world;
      member.max_handles = rank.max_handles;
      member.offer = ExportId{rank.offer};
      member.agreement = rank.agreement;
      for (const std::uint64_t lease : rank.leases) member.leases.push_back(LeaseId{lease});
      member.any_layout = rank.any_layout;
      if (!access_of(rank.access, member.access) || !group.ranks.emplace(rank.rank, std::move(member)).second)
        return text("rank ", rank.rank, " of group ", key.slot, " is damaged");
      Session& session = core.sessions.at(rank.session);
      session.groups.push_back({key.slot, rank.rank});
      charge_again(core, session, Resource::kGroups);
    }
    if (!core.groups.restore(GroupId::of(key.slot, record.use), std::move(group)))
      return text("two groups in slot ", key.slot, ", or of one name");
  }
  return {};
}

Misfit restore_waits(Core& core, const RecordSet& records) {
  for (const auto& [key, record] : records.waits) {
    if (!core.sessions.live(record.session) || !core.exports.table().live(record.exported))
      return text("a wait of no session or no export, slot ", key.slot);
    Session& session = core.sessions.at(record.session);
    Wait wait;
    wait.what = DrainWait{record.exported, record.unmapped, record.exports};
    wait.request_id = record.request_id;
    wait.deadline = record.deadline;
    wait.session = record.session;
    wait.frame_type = static_cast<std::uint16_t>(record.frame_type);
    if (!core.waits.table().emplace_at(Id<Wait>::of(key.slot, 1), std::move(wait)))
      return text("two waits in slot ", key.slot);
    if (record.deadline != kNever)
      core.waits.at(key.slot).ticket =
          core.deadlines.insert(record.deadline, {Deadline::Kind::kWait, key.slot});
    link_front<&Wait::of_session>(core.waits.table(), session.waits, key.slot);
    link_front<&Wait::of_line>(core.waits.table(), core.exports.life_of(record.exported).waits, key.slot);
    charge_again(core, session, Resource::kWaits);
  }
  return {};
}

}  // namespace hb::core
