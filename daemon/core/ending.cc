// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "core/ending.h"

#include <algorithm>
#include <utility>

namespace hb::core {

void end_lease(Call& call, std::uint32_t slot) {
  Core& core = call.core;
  const Lease& lease = core.leases.at(slot);
  Session& session = core.sessions.at(lease.session);
  Export& exported = core.exports.at(lease.exported);
  if (!session.ending)
    call.out.emplace_back(SetValidity{core.sessions.id_of(lease.session), lease.validity_slot, 0});
  session.validity.give_back(lease.validity_slot);
  Quota::give_back(Resource::kLease, session.charges);
  unlink<&Lease::of_session>(core.leases, session.leases, slot);
  unlink<&Lease::of_export>(core.leases, exported.leases, slot);
  --exported.lease_count;
  core.leases.erase(slot);
}

void end_export(Call& call, std::uint32_t slot) {
  Core& core = call.core;
  Export& e = core.exports.at(slot);
  while (e.leases != kNoSlot) end_lease(call, e.leases);
  for (const Chunk& chunk : e.chunks.all()) core.allocations.drop_reference(chunk.allocation, call.closing);
  { const ChunkList released = std::move(e.chunks); }
  e.metadata.reset();
  unlink<&Export::of_session>(core.exports.table(), core.sessions.at(e.session).exports, slot);
  e.session = kNoSlot;
  core.exports.end(slot, call.now);
}

void drop_staging(Call& call, Session& session, Staging* staging) {
  Core& core = call.core;
  for (const Chunk& chunk : staging->chunks) core.allocations.drop_reference(chunk.allocation, call.closing);
  core.fds.settle(staging->handles_to_come);
  core.exports.acls().drop(staging->acl);
  core.exports.placements().drop(staging->placement);
  core.exports.at(staging->exported).session = kNoSlot;
  core.exports.unstage(staging->exported);
  Quota::give_back(Resource::kStaging, session.charges);
  std::erase_if(session.stagings, [&](const auto& own) { return own.get() == staging; });
}

Wait take_wait(Core& core, std::uint32_t slot) {
  const Wait& wait = core.waits.at(slot);
  Session& session = core.sessions.at(wait.session);
  if (wait.ticket != kNoSlot) core.deadlines.erase(wait.ticket);
  Quota::give_back(Resource::kWait, session.charges);
  unlink<&Wait::of_session>(core.waits.table(), session.waits, slot);
  return core.waits.remove(slot);
}

}  // namespace hb::core
