// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "core/view.h"

namespace hb::core {

ExportView view_of(const Core& core, std::uint32_t slot) {
  static const std::string kEmpty;
  const Export& e = core.exports.at(slot);
  ExportView view;
  view.id = core.exports.id_of(slot);
  view.name = e.name ? e.name.get() : &kEmpty;
  view.metadata = e.metadata ? e.metadata.get() : &kEmpty;
  const Placement& placement = core.exports.placements().at(e.placement);
  view.device = &placement.device;
  view.peers = &placement.peers;
  view.owner_uid = e.owner_uid;
  view.generation = e.generation;
  view.layout_version = e.layout_version;
  view.size = e.chunks.bytes();
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
  return holder;
}

ExportInfo info_of(const Core& core, std::uint32_t slot, Time now) {
  const Export& e = core.exports.at(slot);
  ExportInfo info;
  info.view = view_of(core, slot);
  info.owner = session_info(core, e.session, now);
  info.state = static_cast<std::uint8_t>(e.state);
  info.lifetime = e.lifetime;
  info.chunks = e.chunks.all().size();
  info.allocations = e.chunks.allocations();
  info.leases = e.lease_count;
  info.age_ns = now - e.created;
  info.access = e.access;
  info.level = e.all_sealed ? Level::kSealed : Level::kIntent;
  info.size_declared = e.size_declared;
  return info;
}

}  // namespace hb::core
