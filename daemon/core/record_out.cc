// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include <type_traits>
#include <variant>

#include "core/recorder.h"

namespace hb::core {

namespace {

template <class E>
std::uint32_t number(E value) {
  return static_cast<std::uint32_t>(value);
}

record::Device record_of(const Device& device) { return {device.uuid, device.pci, device.partition}; }

record::Error record_of(const Error& error) {
  return {error.status, error.message, error.what, error.used, error.limit, error.who, error.chunk};
}

template <std::size_t kSize>
msg::Bytes bytes_of(const std::array<std::uint8_t, kSize>& array) {
  return std::as_bytes(std::span(array));
}

record::Exported record_of(const Exported& exported) {
  record::Exported out{exported.id.value,
                       exported.generation,
                       exported.layout_version,
                       exported.received_chunks,
                       exported.complete,
                       {},
                       {},
                       number(exported.access),
                       exported.size,
                       {}};
  if (!exported.complete) return out;
  out.key = bytes_of(exported.key);
  out.secret = bytes_of(exported.secret);
  out.token = bytes_of(exported.token);
  return out;
}

record::Holder record_of(const Holder& holder) {
  record::Holder out;
  out.lease = holder.lease.value;
  out.exported = holder.exported.value;
  out.session = holder.session.id.value;
  out.uid = holder.session.uid;
  out.gid = holder.session.gid;
  if (holder.session.process != nullptr) out.process = record_of(*holder.session.process);
  out.session_age_ns = holder.session.age_ns;
  out.access = number(holder.access);
  out.level = number(holder.level);
  out.offset = holder.offset;
  out.length = holder.length;
  out.age_ns = holder.age_ns;
  out.unread_ns = holder.unread_ns;
  out.listens = holder.listens;
  out.unmap_asked = holder.unmap_asked;
  out.ticket = holder.ticket.value;
  out.ticket_left_ns = holder.ticket_left_ns;
  out.acked_step = holder.acked_step;
  out.state = holder.state;
  return out;
}

record::Withdrawn record_of(const Withdrawn& withdrawn) {
  record::Withdrawn out;
  out.exports = withdrawn.exports;
  for (const Holder& holder : withdrawn.holders) out.holders.push_back(record_of(holder));
  out.more_holders = withdrawn.more_holders;
  out.holder_count = withdrawn.holder_count;
  out.layout_version = withdrawn.layout_version;
  return out;
}

std::vector<record::Device> peers_of(const Placement& placement) {
  std::vector<record::Device> out;
  for (const Device& peer : placement.peers) out.push_back(record_of(peer));
  return out;
}

}  // namespace

record::Process record_of(const ProcessInfo& process) {
  return {process.pid, process.command, process.cgroup, process.scope_name};
}

std::vector<record::AclEntry> record_of(const Acl& acl) {
  std::vector<record::AclEntry> out;
  for (const AclEntry& entry : acl) out.push_back({number(entry.kind), entry.id, number(entry.access)});
  return out;
}

record::Allocation record_of(const Allocation& a, std::uint32_t use) {
  return {use,         a.handle.value, a.size,   a.device,    a.inode, a.declared_by.value, number(a.kind),
          a.mergeable, a.writable,     a.sealed, a.size_known};
}

record::Lease record_of(const Lease& lease, std::uint32_t use) {
  return {use,
          lease.session,
          lease.exported,
          lease.offset,
          lease.length,
          lease.layout_version,
          lease.created,
          lease.first_chunk,
          lease.chunk_count,
          lease.validity_slot,
          lease.validity_value,
          lease.acked_step,
          number(lease.access),
          number(lease.level),
          lease.current,
          lease.follows,
          lease.unmap_asked,
          lease.pins,
          lease.order};
}

record::Ticket record_of(const Ticket& ticket, std::uint32_t use) {
  record::Ticket out;
  out.use = use;
  out.offset = ticket.offset;
  out.length = ticket.length;
  out.made = ticket.made;
  out.deadline = ticket.deadline;
  out.maker = ticket.maker.value;
  if (ticket.process != nullptr) out.process = record_of(*ticket.process);
  out.exported = ticket.exported.value;
  out.scope = ticket.scope.value;
  out.uid = ticket.uid;
  out.gid = ticket.gid;
  out.access = number(ticket.access);
  out.end = number(ticket.end);
  out.order = ticket.order;
  return out;
}

record::Group record_of(const Group& group, std::uint32_t use) {
  record::Group out;
  out.use = use;
  out.scope = group.scope.value;
  out.uid = group.uid;
  out.name = group.name;
  out.attempt = group.attempt;
  out.round = group.round;
  out.phase = number(group.phase);
  out.end = record_of(group.end);
  for (const auto& [rank, member] : group.ranks) {
    record::Rank& one = out.ranks.emplace_back();
    one.rank = rank;
    one.session = member.session;
    one.world = member.world;
    one.max_handles = member.max_handles;
    one.offer = member.offer.value;
    one.agreement = member.agreement;
    for (const LeaseId lease : member.leases) one.leases.push_back(lease.value);
    one.access = number(member.access);
    one.any_layout = member.any_layout;
  }
  return out;
}

record::Answer record_of(const AnswerLog::Entry& entry) {
  record::Answer out;
  out.id = entry.id;
  out.frame_type = entry.frame_type;
  out.order = entry.order;
  std::visit(
      [&]<class A>(const A& answer) {
        if constexpr (std::is_same_v<A, Error>) {
          out.error.emplace(record_of(answer));
        } else if constexpr (std::is_same_v<A, Exported>) {
          out.exported.emplace(record_of(answer));
        } else if constexpr (std::is_same_v<A, LeaseAnswer>) {
          out.lease = record::LeaseGiven{answer.lease.value, answer.exported.value, answer.generation};
        } else if constexpr (std::is_same_v<A, TicketMade>) {
          out.ticket = bytes_of(answer.ticket);
        } else if constexpr (std::is_same_v<A, Done>) {
          out.done = answer.index;
        } else if constexpr (std::is_same_v<A, JoinAnswer>) {
          out.joined = answer.group.value;
        } else {
          out.withdrawn.push_back(record_of(answer->body));
        }
      },
      entry.answer);
  return out;
}

record::Staging record_of(const Core& core, const Staging& staging, std::uint32_t session,
                          std::uint64_t order) {
  record::Staging out;
  out.session = session;
  out.change = number(staging.change);
  out.first = staging.first;
  out.metadata = staging.metadata;
  out.acl = record_of(core.exports.acls().at(staging.acl));
  const Placement& placement = core.exports.placements().at(staging.placement);
  out.device = record_of(placement.device);
  out.peers = peers_of(placement);
  out.kind = number(staging.kind);
  out.max_access = number(staging.max_access);
  out.max_size = staging.max_size;
  out.replace = staging.replace;
  out.lifetime = number(staging.lifetime);
  out.linger_ns = staging.linger_ns;
  out.promises_write = staging.promises_write;
  out.total_chunks = staging.total_chunks;
  out.total_size = staging.total_size;
  out.handles_to_come = staging.handles_to_come;
  out.chunks = staging.chunks.size();
  out.order = order;
  return out;
}

record::Life record_of(const ExportLife& life) {
  record::Life out;
  out.max_size = life.max_size;
  out.forgotten_changes = life.changes.forgotten();
  for (const ChangeLog::Entry& entry : life.changes.entries())
    out.changes.push_back({entry.version, entry.chunks.first, entry.chunks.count});
  out.linger_ns = life.linger_ns;
  out.linger_end = life.linger_end;
  if (life.owner != nullptr) out.owner = record_of(*life.owner);
  out.owner_session = life.owner_session.value;
  out.owner_gid = life.owner_gid;
  out.ended_size = life.ended_size;
  out.ended_chunks = life.ended_chunks;
  out.suspended_size = life.suspended_size;
  out.step = life.step;
  for (const ExportLife::Departed& one : life.departed) {
    record::Departed& gone = out.departed.emplace_back();
    gone.lease = one.lease.value;
    gone.session = one.session.value;
    gone.uid = one.uid;
    gone.gid = one.gid;
    if (one.process != nullptr) gone.process = record_of(*one.process);
    gone.acked_step = one.acked_step;
  }
  out.more_departed = life.more_departed;
  out.awaited = life.awaited;
  out.lost = life.lost;
  out.suspended_chunks = life.suspended_sizes.size();
  return out;
}

void record_into(const Core& core, std::uint32_t slot, record::Session& out) {
  constexpr std::uint32_t kStep = 1024;
  constexpr std::size_t kGroups = 4096;
  const Session& session = core.sessions.at(slot);
  out.use = core.sessions.id_of(slot).use();
  out.scope = session.principal.scope.value;
  out.uid = session.principal.uid;
  out.gid = session.principal.gid;
  // Of more than fit a record none: without them nobody is let in who should not be.
  out.groups.clear();
  if (session.principal.groups.size() <= kGroups)
    out.groups.assign(session.principal.groups.begin(), session.principal.groups.end());
  out.admin = session.principal.admin;
  out.process = record_of(*session.process);
  out.connected = session.connected;
  out.subscribed = session.subscribed;
  // Even, as values are.
  out.highest_word = session.validity.highest() == 0 ? 0 : (session.validity.highest() | (kStep - 1)) - 1;
  out.forgotten_answers = session.answers.highest_forgotten();
  out.edge = session.edge;
  out.parked = session.parked_before;
  for (std::uint32_t wait = session.waits; wait != kNoSlot; wait = core.waits.at(wait).of_session.next)
    if (core.waits.at(wait).mutating && !std::holds_alternative<DrainWait>(core.waits.at(wait).what) &&
        out.parked.size() < 2 * limits::kSessionWaits)
      out.parked.push_back(core.waits.at(wait).request_id);
}

void record_into(const Core& core, std::uint32_t slot, record::Export& out) {
  const Export& e = core.exports.at(slot);
  const Name* const name = core.exports.name_of(e);
  const Placement& placement = core.exports.placements().at(e.placement);
  out.use = core.exports.id_of(slot).use();
  out.state = number(e.state);
  out.name = name == nullptr ? msg::Text() : msg::Text(name->text);
  out.generation = e.generation;
  out.name_generation = name == nullptr ? 0 : name->generation;
  out.scope = e.scope.value;
  out.owner_uid = e.owner_uid;
  out.session = e.session == kNoSlot ? std::nullopt : std::optional(e.session);
  out.layout_version = e.layout_version;
  out.created = e.created;
  out.ended = e.ended;
  out.order = e.order;
  out.metadata = e.metadata == nullptr ? msg::Text() : msg::Text(*e.metadata);
  out.acl = record_of(core.exports.acls().at(e.acl));
  out.device = record_of(placement.device);
  out.peers = peers_of(placement);
  out.kind = number(e.kind);
  out.lifetime = number(e.lifetime);
  out.access = number(e.access);
  out.chunks = e.chunks.all().size();
  out.all_sealed = e.all_sealed;
  out.size_declared = e.size_declared;
  out.life = e.life == nullptr ? std::nullopt : std::optional(record_of(*e.life));
}

}  // namespace hb::core
