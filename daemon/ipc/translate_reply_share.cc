// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Answers about exports and leases, and about who shares what.
#include "ipc/translate_reply_parts.h"

namespace hb::ipc {
void fill(v1::Device* out, const core::Device& device) {
  out->set_uuid(device.uuid);
  out->set_pci(device.pci);
  out->set_partition(device.partition);
}

void fill(google::protobuf::RepeatedPtrField<v1::Device>* out, const std::vector<core::Device>& devices) {
  for (const core::Device& device : devices) fill(out->Add(), device);
}

void fill(v1::Process* out, const core::SessionInfo& session) {
  out->set_session_id(session.id.value);
  out->set_uid(session.uid);
  out->set_gid(session.gid);
  out->set_connected_ns(session.age_ns);
  if (session.process == nullptr) return;
  out->set_pid(session.process->pid);
  out->set_command(session.process->command);
  out->set_cgroup(session.process->cgroup);
  out->set_scope(session.process->scope_name);
}

void fill(v1::Holder* out, const core::Holder& holder) {
  out->set_lease_id(holder.lease.value);
  fill(out->mutable_process(), holder.session);
  out->set_access(number(holder.access));
  out->set_level(number(holder.level));
  out->set_offset(holder.offset);
  out->set_length(holder.length);
  out->set_age_ns(holder.age_ns);
  out->set_export_id(holder.exported.value);
  out->set_unread_ns(holder.unread_ns);
  out->set_listens(holder.listens);
  out->set_unmap_asked(holder.unmap_asked);
  out->set_ticket(holder.ticket.value);
  out->set_ticket_left_ns(holder.ticket_left_ns);
  out->set_acked_step(holder.acked_step);
  out->set_state(holder.state);
}

void fill(google::protobuf::RepeatedPtrField<v1::Holder>* out, const std::vector<core::Holder>& holders) {
  for (const core::Holder& holder : holders) fill(out->Add(), holder);
}

void fill(v1::ExportInfo* out, const core::ExportInfo& info) {
  const core::ExportView& view = info.view;
  out->set_export_id(view.id.value);
  if (view.name != nullptr) out->set_name(*view.name);
  if (view.metadata != nullptr) out->set_metadata_bytes(static_cast<std::uint32_t>(view.metadata->size()));
  if (view.device != nullptr) fill(out->mutable_device(), *view.device);
  if (view.peers != nullptr) fill(out->mutable_peers(), *view.peers);
  if (info.owner.process != nullptr) out->set_scope(info.owner.process->scope_name);
  out->set_owner_uid(view.owner_uid);
  fill(out->mutable_owner(), info.owner);
  out->set_generation(view.generation);
  out->set_layout_version(view.layout_version);
  out->set_state(info.state);
  out->set_lifetime(static_cast<std::uint32_t>(info.lifetime));
  out->set_size(view.size);
  out->set_chunks(info.chunks);
  out->set_allocations(info.allocations);
  out->set_handle_kind(static_cast<std::uint32_t>(view.kind));
  out->set_leases(info.leases);
  out->set_age_ns(info.age_ns);
  out->set_access(number(info.access));
  out->set_level(number(info.level));
  out->set_size_declared(info.size_declared);
  out->set_max_size(view.max_size);
  out->set_linger_ns(info.linger_ns);
  out->set_linger_left_ns(info.linger_left_ns);
  out->set_tickets(info.tickets);
  out->set_descriptors(info.descriptors);
  out->set_step(info.step);
  out->set_awaited_ns(info.awaited_ns);
}

void fill(google::protobuf::RepeatedPtrField<v1::Chunk>* out, const core::Page& page, std::uint32_t before) {
  out->Reserve(static_cast<int>(page.chunks.size()));
  for (std::size_t i = 0; i < page.chunks.size(); ++i) {
    v1::Chunk* chunk = out->Add();
    // handle_of is 0-based, the wire counts from 1.
    if (i < page.handle_of.size()) {
      chunk->set_handle(before + page.handle_of[i] + 1u);
      chunk->set_object_size(page.sizes[page.handle_of[i]]);
    }
    chunk->set_offset(page.chunks[i].offset);
    chunk->set_size(page.chunks[i].size);
    chunk->set_identity(page.chunks[i].allocation.value);
  }
}

void fill(v1::ExportReply* out, const core::Exported& exported) {
  out->set_export_id(exported.id.value);
  out->set_generation(exported.generation);
  out->set_layout_version(exported.layout_version);
  out->set_received_chunks(exported.received_chunks);
  out->set_complete(exported.complete);
  out->set_access(number(exported.access));
  if (!exported.complete) return;
  set_bytes(out->mutable_key(), exported.key);
  set_bytes(out->mutable_secret(), exported.secret);
  out->set_size(exported.size);
  set_bytes(out->mutable_token(), exported.token);
}

void fill(v1::AcquireReply* out, const core::Acquired& acquired, std::uint32_t before) {
  out->set_lease_id(acquired.lease.value);
  out->set_validity_slot(acquired.validity_slot);
  out->set_validity_value(acquired.validity_value);
  out->set_access(number(acquired.access));
  out->set_level(number(acquired.level));
  out->set_offset(acquired.offset);
  out->set_length(acquired.length);
  out->set_first_chunk(acquired.first_chunk);
  out->set_chunk_count(acquired.chunk_count);
  out->set_chunk_base(acquired.chunk_base);
  out->set_object_bytes(acquired.object_bytes);
  const core::ExportView& view = acquired.exported;
  out->set_export_id(view.id.value);
  out->set_generation(view.generation);
  out->set_layout_version(view.layout_version);
  out->set_export_size(view.size);
  out->set_handle_kind(static_cast<std::uint32_t>(view.kind));
  if (view.device != nullptr) fill(out->mutable_device(), *view.device);
  if (view.peers != nullptr) fill(out->mutable_peers(), *view.peers);
  if (view.metadata != nullptr) out->set_metadata(*view.metadata);
  if (view.name != nullptr) out->set_name(*view.name);
  out->set_owner_uid(view.owner_uid);
  set_bytes(out->mutable_secret(), acquired.secret);
  fill(out->mutable_chunks(), acquired.page, before);
  out->set_max_size(view.max_size);
  out->set_follows(acquired.follows);
}

void fill(v1::FetchReply* out, const core::Fetched& fetched) {
  out->set_first(fetched.page.first);
  fill(out->mutable_chunks(), fetched.page, 0);
}

void fill(v1::WithdrawReply* out, const core::Withdrawn& withdrawn) {
  out->set_withdrawn(withdrawn.exports);
  fill(out->mutable_holders(), withdrawn.holders);
  out->set_more_holders(withdrawn.more_holders);
  out->set_layout_version(withdrawn.layout_version);
  out->set_holder_count(withdrawn.holder_count);
}

void fill(v1::ListReply* out, const core::Listed& listed) {
  for (const core::ExportInfo& info : listed.exports) fill(out->add_exports(), info);
  out->set_next_cursor(listed.next_cursor);
}

void fill(v1::ShowReply* out, const core::Shown& shown) {
  fill(out->mutable_info(), shown.info);
  for (const core::AclEntry& entry : shown.acl) {
    v1::AclEntry* made = out->add_acl();
    made->set_kind(entry.kind == core::AclEntry::Kind::kUid ? v1::AclEntry::UID : v1::AclEntry::GID);
    made->set_id(entry.id);
    made->set_access(number(entry.access));
  }
  if (shown.info.view.metadata != nullptr) out->set_metadata(*shown.info.view.metadata);
  for (const core::ShownChunk& chunk : shown.chunks) {
    v1::ChunkInfo* made = out->add_chunks();
    made->set_offset(chunk.offset);
    made->set_size(chunk.size);
    made->set_allocation(chunk.allocation.value);
    made->set_object_offset(chunk.object_offset);
    made->set_object_size(chunk.object_size);
  }
  out->set_more_chunks(shown.more_chunks);
}

void fill(v1::WhoReply* out, const core::WhoListed& who) {
  fill(out->mutable_holders(), who.holders);
  out->set_next_cursor(who.next_cursor);
}

void fill(v1::StatusReply* out, const core::Counters& counters) {
  out->set_sessions(counters.sessions);
  out->set_exports(counters.exports);
  out->set_allocations(counters.allocations);
  out->set_leases(counters.leases);
  out->set_waits(counters.waits);
  out->set_stagings(counters.stagings);
  out->set_ended_remembered(counters.ended_remembered);
  out->set_bytes(counters.bytes);
  out->set_ended_held(counters.ended_held);
  out->set_tickets(counters.tickets);
  out->set_groups(counters.groups);
  out->set_events_pending(counters.events_pending);
}

void fill(v1::QuotaListReply* out, const core::QuotaListed& listed) {
  for (const core::AccountView& view : listed.accounts) {
    v1::Account* account = out->add_accounts();
    account->set_scope(view.scope);
    account->set_whole_scope(view.whole_scope);
    account->set_uid(view.uid);
    for (std::size_t i = 0; i < core::kResources; ++i) {
      const auto resource = static_cast<core::Resource>(i);
      v1::Amount* amount = account->add_amounts();
      amount->set_resource(std::string(core::text_of(resource).key));
      amount->set_used(view.used[i]);
      amount->set_limit(view.limits.of(resource));
    }
  }
  out->set_next_cursor(listed.next_cursor);
}

}  // namespace hb::ipc
