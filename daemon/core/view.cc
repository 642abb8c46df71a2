// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "core/view.h"

namespace hb::core {

ExportView view_of(const Core& core, std::uint32_t slot) {
  static const std::string kEmpty;
  const Export& e = core.exports.at(slot);
  ExportView view;
  view.id = core.exports.id_of(slot);
  const Name* const name = core.exports.name_of(e);
  view.name = name != nullptr ? &name->text : &kEmpty;
  view.metadata = e.metadata ? e.metadata.get() : &kEmpty;
  const Placement& placement = core.exports.placements().at(e.placement);
  view.device = &placement.device;
  view.peers = &placement.peers;
  view.owner_uid = e.owner_uid;
  view.generation = e.generation;
  view.layout_version = e.layout_version;
  view.size = e.size();
  view.max_size = e.max_size();
  view.kind = e.kind;
  return view;
}

SessionInfo session_info(const Core& core, std::uint32_t slot, Time now) {
  const Session& session = core.sessions.at(slot);
  return {core.sessions.id_of(slot), session.principal.uid, session.principal.gid, session.process.get(),
          now - session.connected};
}

Holder holder_of(const Core& core, std::uint32_t lease_slot, Time now) {
  const Lease& lease = core.leases.at(lease_slot);
  Holder holder;
  holder.lease = core.leases.id_of(lease_slot);
  holder.exported = core.exports.id_of(lease.exported);
  holder.session = session_info(core, lease.session, now);
  holder.access = lease.access;
  holder.level = lease.level;
  holder.offset = lease.offset;
  holder.length = lease.length;
  holder.age_ns = now - lease.created;
  const Session& session = core.sessions.at(lease.session);
  holder.listens = session.subscribed;
  if (session.events != kNoSlot) holder.unread_ns = now - core.events.at(session.events).since;
  holder.unmap_asked = lease.unmap_asked;
  holder.acked_step = lease.acked_step;
  holder.state = static_cast<std::uint8_t>(core.exports.at(lease.exported).state);
  return holder;
}

Holder holder_of_ticket(const Core& core, std::uint32_t ticket_slot, Time now) {
  const Ticket& ticket = core.tickets.at(ticket_slot);
  Holder holder;
  holder.ticket = core.tickets.id_of(ticket_slot);
  holder.ticket_left_ns = ticket.deadline > now ? ticket.deadline - now : 0;
  holder.exported = ticket.exported;
  holder.session = {ticket.maker, ticket.uid, ticket.gid, ticket.process.get(), 0};
  if (const Session* maker = core.sessions.find(ticket.maker)) holder.session.age_ns = now - maker->connected;
  holder.access = ticket.access;
  holder.offset = ticket.offset;
  holder.length = ticket.length;
  holder.age_ns = now - ticket.made;
  holder.state = static_cast<std::uint8_t>(core.exports.at(ticket.exported.slot()).state);
  return holder;
}

ExportInfo info_of(const Core& core, std::uint32_t slot, Time now) {
  const Export& e = core.exports.at(slot);
  ExportInfo info;
  info.view = view_of(core, slot);
  if (e.session != kNoSlot) {
    info.owner = session_info(core, e.session, now);
  } else if (e.life != nullptr) {
    info.owner = {e.life->owner_session, e.owner_uid, e.life->owner_gid, e.life->owner.get(), 0};
  } else {
    info.owner.uid = e.owner_uid;
  }
  info.state = static_cast<std::uint8_t>(e.state);
  info.lifetime = e.lifetime;
  info.chunks = e.chunks.all().size();
  info.allocations = e.chunks.allocations();
  info.descriptors = info.allocations;
  info.leases = e.lease_count;
  info.age_ns = now - e.created;
  info.access = e.access;
  info.level = e.all_sealed ? Level::kSealed : Level::kIntent;
  info.size_declared = e.size_declared;
  if (e.life == nullptr) return info;
  const ExportLife& life = *e.life;
  if (info.chunks == 0)
    info.chunks = e.state == ExportState::kSuspended ? life.suspended_sizes.size() : life.ended_chunks;
  info.linger_ns = life.linger_ns;
  const std::uint64_t left = life.linger_end != kNever && life.linger_end > now ? life.linger_end - now : 0;
  (life.awaited ? info.awaited_ns : info.linger_left_ns) = left;
  info.tickets = life.ticket_count;
  info.step = life.step;
  return info;
}

}  // namespace hb::core
