// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "core/awaiting.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "core/ending.h"
#include "core/group.h"
#include "core/staging.h"
#include "core/ticket.h"
#include "core/waiting.h"

namespace hb::core {

namespace {

bool uses(const Core& core, std::span<const Chunk> chunks, const std::unordered_set<HandleId>& handles) {
  return std::any_of(chunks.begin(), chunks.end(), [&](const Chunk& chunk) {
    return handles.contains(core.allocations.at(chunk.allocation).handle);
  });
}

void drop_stagings(Call& call, Session& session, const std::unordered_set<HandleId>& handles) {
  std::vector<Staging*> lost;
  for (const auto& staging : session.stagings)
    if (uses(call.core, staging->chunks, handles)) lost.push_back(staging.get());
  for (Staging* const staging : lost) drop_staging(call, session, staging);
}

}  // namespace

void wait_for(Call& call, std::uint32_t slot, Time until) {
  Core& core = call.core;
  ExportLife& life = core.exports.life_of(slot);
  if (!life.awaited) ++core.awaited;
  life.awaited = true;
  stop_linger(core, life);
  life.linger_end = until;
  life.linger_ticket =
      until == kNever ? kNoSlot : core.deadlines.insert(until, {Deadline::Kind::kLinger, slot});
}

namespace {

// Holders have it mapped still and need not do anything: nobody is told, and no word is cleared.
void put_to_sleep(Call& call, std::uint32_t slot) {
  Core& core = call.core;
  Export& e = core.exports.at(slot);
  drop_changes_of(call, slot);
  ExportLife& life = core.exports.life_of(slot);
  life.lost = true;
  life.suspended_size = e.chunks.bytes();
  life.suspended_sizes.clear();
  for (const Chunk& chunk : e.chunks.all()) life.suspended_sizes.push_back(chunk.size);
  core.exports.set_state(slot, ExportState::kSuspended);
  release_chunks(call, slot);
}

void lose(Call& call, std::uint32_t slot, Time until) {
  switch (call.core.exports.at(slot).state) {
    case ExportState::kLive:
      put_to_sleep(call, slot);
      return wait_for(call, slot, until);
    case ExportState::kOrphaned:
      return end_export(call, slot, ExportState::kGone);
    default:
      return drop_pins(call, slot, TicketEnd::kAsleep);  // it had ended, and was kept for these
  }
}

}  // namespace

void lose_allocations(Call& call, const std::unordered_set<HandleId>& handles, Time until) {
  Core& core = call.core;
  for (std::uint32_t slot = 0; slot < core.sessions.slots(); ++slot)
    if (core.sessions.live(slot)) drop_stagings(call, core.sessions.at(slot), handles);
  const Core& read = core;
  for (std::uint32_t slot = 0; slot < read.exports.table().slots(); ++slot)
    if (read.exports.table().live(slot) && uses(read, read.exports.at(slot).chunks.all(), handles))
      lose(call, slot, until);
}

void await(Call& call, std::uint32_t slot, Time until) {
  Core& core = call.core;
  Export& e = core.exports.at(slot);
  // What outlives its owner anyway has its memory still, and may be claimed by anybody of the owner's uid.
  if (e.lifetime != Lifetime::kOwner && e.state == ExportState::kLive) return leave_export(call, slot);
  if (e.state == ExportState::kLive) put_to_sleep(call, slot);
  keep_owner(core, slot);
  drop_changes_of(call, slot);
  unlink_owner(core, slot);
  wait_for(call, slot, until);
}

void stop_awaiting(Call& call, std::uint32_t slot) {
  Core& core = call.core;
  const auto& kept = core.exports.at(slot).life;
  if (kept == nullptr || !kept->awaited) return;
  ExportLife& life = *kept;
  --core.awaited;
  life.awaited = false;
  life.lost = false;
  stop_linger(core, life);
}

}  // namespace hb::core
