// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Sleep: the daemon lets the memory go, the holders are asked to. Waking brings new memory (change.cc).
#include "core/ending.h"
#include "core/event_table.h"
#include "core/failure.h"
#include "core/lookup.h"
#include "core/staging.h"
#include "core/verbs.h"

namespace hb::core {

Outcome suspend(Call& call, Asker& asker, const SuspendRequest& request) {
  Core& core = call.core;
  const auto slot = find_own(core, asker, request.id);
  if (!slot) return slot.error();
  Export& e = core.exports.at(*slot);
  // Asked again to wait for those who are left.
  if (e.state == ExportState::kSuspended) return drain(call, asker, *slot, true, 0, request.wait_ns);
  if (staging_of(core, asker.session, request.id) != nullptr)
    return failure(HB_BUSY, "a change of export ", request.id.value, " is being sent: abort it first");
  ExportLife& life = core.exports.life_of(*slot);
  life.suspended_size = e.chunks.bytes();
  life.suspended_sizes.clear();
  for (const Chunk& chunk : e.chunks.all()) life.suspended_sizes.push_back(chunk.size);
  core.exports.set_state(*slot, ExportState::kSuspended);
  ++e.layout_version;
  clear_words(call, *slot);
  for (std::uint32_t lease = e.leases; lease != kNoSlot; lease = core.leases.at(lease).of_export.next) {
    core.leases.at(lease).unmap_asked = true;
    ++life.unmap_asked;
    tell_holder(call, lease, EventKind::kSuspended);
  }
  release_chunks(call, *slot);
  return drain(call, asker, *slot, true, 1, request.wait_ns);
}

Outcome unmapped(Call& call, Asker& asker, const UnmappedRequest& request) {
  Core& core = call.core;
  Lease* lease = core.leases.find(request.lease);
  if (lease == nullptr || lease->session != asker.id.slot())
    return failure(HB_NOT_HELD, "lease ", request.lease.value, " is not held by this session");
  // Of an earlier sleep, or asked of nobody any more: nothing to note.
  const bool of_this_sleep = request.layout_version == 0 ||
                             request.layout_version == core.exports.at(lease->exported).layout_version;
  if (!lease->unmap_asked || !of_this_sleep) return failure(HB_OK);
  lease->unmap_asked = false;
  note_unmapped(call, lease->exported);
  return failure(HB_OK);
}

void wake(Call& call, std::uint32_t slot) {
  Core& core = call.core;
  Export& e = core.exports.at(slot);
  ExportLife& life = core.exports.life_of(slot);
  life.unmap_asked = 0;
  life.suspended_sizes = {};
  for (std::uint32_t lease = e.leases; lease != kNoSlot; lease = core.leases.at(lease).of_export.next) {
    core.leases.at(lease).unmap_asked = false;
    tell_holder(call, lease, EventKind::kResumed);
  }
}

}  // namespace hb::core
