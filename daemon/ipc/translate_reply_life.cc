// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Answers about an export's life: what changed, events, steps, groups.
#include "ipc/translate_reply_parts.h"

namespace hb::ipc {
void fill(v1::Event* out, const core::Event& event) {
  out->set_kind(static_cast<v1::Event::Kind>(event.kind));
  out->set_lease_id(event.lease.value);
  out->set_export_id(event.exported.value);
  out->set_generation(event.generation);
  out->set_layout_version(event.layout_version);
  out->set_size(event.size);
  out->set_first_chunk(event.chunks.first);
  out->set_chunk_count(event.chunks.count);
}

void fill(v1::RefreshReply* out, const core::Refreshed& refreshed) {
  fill(out->mutable_grant(), refreshed.grant);
  for (const core::ChunkRun& run : refreshed.changed) {
    v1::ChunkRun* made = out->add_changed();
    made->set_first(run.first);
    made->set_count(run.count);
  }
}

void fill(v1::MakeTicketReply* out, const core::TicketMade& made) {
  set_bytes(out->mutable_ticket(), made.ticket);
}

void fill(v1::TakeEventsReply* out, const core::EventsTaken& taken) {
  for (const core::Event& event : taken.events) fill(out->add_events(), event);
  out->set_more(taken.more);
}

void fill(v1::WaitStepReply* out, const core::StepWaited& waited) { out->set_step(waited.step); }

void fill(v1::WaitAcksReply* out, const core::AcksWaited& waited) {
  out->set_acked(waited.acked);
  fill(out->mutable_missing(), waited.missing);
  out->set_more_missing(waited.more_missing);
  fill(out->mutable_left(), waited.left);
  out->set_more_left(waited.more_left);
}

// The descriptors of all members' pages travel side by side, by member: an allocation that two members share
// is there twice, which keeps each grant as it would be alone.
void fill(v1::JoinReply* out, const core::Joined& joined) {
  out->set_group_id(joined.group.value);
  std::uint32_t rank = 0;
  std::uint32_t before = 0;
  for (const core::Joined::Member& member : joined.members) {
    v1::Member* made = out->add_members();
    made->set_rank(rank++);
    made->set_export_id(member.exported.value);
    // Who it is; the rest would not fit for all.
    v1::Process* process = made->mutable_process();
    process->set_session_id(member.session.id.value);
    process->set_uid(member.session.uid);
    if (member.session.process != nullptr) process->set_pid(member.session.process->pid);
    if (!member.grant) continue;
    fill(made->mutable_grant(), *member.grant, before);
    before += static_cast<std::uint32_t>(member.grant->page.handles.size());
  }
}

void fill(v1::GroupAppendReply* out, const core::GroupAppended& appended) {
  for (const std::uint64_t version : appended.layout_versions) out->add_layout_versions(version);
}

}  // namespace hb::ipc
