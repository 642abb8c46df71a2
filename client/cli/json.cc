// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "json.h"

#include "format.h"

namespace hb::cli {

Json string_or_null(const char* text) {
  if (text == nullptr || *text == '\0') return nullptr;
  return text;
}

Json to_json(const hb_process& process) {
  return {{"session_id", process.session_id},
          {"pid", process.pid == 0 ? Json(nullptr) : Json(process.pid)},
          {"uid", process.uid},
          {"gid", process.gid},
          {"command", string_or_null(process.command)},
          {"cgroup", string_or_null(process.cgroup)},
          {"scope", process.scope == nullptr ? "" : process.scope},
          {"connected_ns", process.connected_ns}};
}

namespace {

Json device_json(const char* uuid, const char* pci, std::uint32_t partition) {
  if (string_or_null(uuid).is_null() && string_or_null(pci).is_null()) return nullptr;
  return {{"uuid", string_or_null(uuid)}, {"pci", string_or_null(pci)}, {"partition", partition}};
}

}  // namespace

Json to_json(const hb_listed& listed) {
  Json peers = Json::array();
  for (std::size_t i = 0; i < listed.peer_count; ++i)
    peers.push_back(device_json(listed.peers[i].uuid, listed.peers[i].pci, listed.peers[i].partition));
  return {{"export_id", listed.export_id},
          {"name", string_or_null(listed.name)},
          {"scope", listed.scope == nullptr ? "" : listed.scope},
          {"owner_uid", listed.owner_uid},
          {"owner", to_json(listed.owner)},
          {"generation", listed.generation},
          {"layout_version", listed.layout_version},
          {"state", string_or_null(listed.state)},
          {"lifetime", string_or_null(listed.lifetime)},
          {"bytes", listed.bytes},
          {"bytes_declared", listed.bytes_declared != 0},
          {"chunks", listed.chunks},
          {"allocations", listed.allocations},
          {"kind", kind_word(listed.kind)},
          {"device", device_json(listed.device_uuid, listed.device_pci, listed.device_partition)},
          {"peers", std::move(peers)},
          {"leases", listed.leases},
          {"age_ns", listed.age_ns},
          {"access", access_word(listed.access)},
          {"level", level_word(listed.level)},
          {"metadata_bytes", listed.metadata_bytes},
          {"max_bytes", listed.max_bytes},
          {"linger_ns", listed.linger_ns},
          {"linger_left_ns", listed.linger_left_ns},
          {"tickets", listed.tickets},
          {"descriptors", listed.descriptors},
          {"step", listed.step},
          {"awaited_ns", listed.awaited_ns},
          {"restart_unsafe", listed.restart_unsafe != 0}};
}

Json to_json(const hb_held& held) {
  return {{"export_id", held.export_id},
          {"lease_id", held.lease_id},
          {"process", to_json(held.process)},
          {"access", access_word(held.access)},
          {"level", level_word(held.level)},
          {"offset", held.offset},
          {"bytes", held.bytes},
          {"age_ns", held.age_ns},
          {"state", string_or_null(held.state)},
          {"listens", held.listens != 0},
          {"unread_ns", held.unread_ns},
          {"unmap_asked", held.unmap_asked != 0},
          {"ticket", held.ticket == 0 ? Json(nullptr) : Json(held.ticket)},
          {"ticket_left_ns", held.ticket_left_ns},
          {"acked_step", held.acked_step}};
}

Json to_json(const hb_shown_chunk& chunk) {
  return {{"offset", chunk.offset},
          {"bytes", chunk.bytes},
          {"allocation", chunk.allocation},
          {"object_offset", chunk.object_offset},
          {"object_bytes", chunk.object_bytes}};
}

Json to_json(const hb_acl_entry& entry) {
  return {{entry.kind == HB_ACL_GID ? "gid" : "uid", entry.id}, {"access", access_word(entry.access)}};
}

std::string dump(const Json& json) { return json.dump(2, ' ', true, Json::error_handler_t::replace) + '\n'; }

}  // namespace hb::cli
