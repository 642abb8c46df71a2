// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "core/grant.h"

#include <algorithm>

#include "core/access_rules.h"
#include "core/failure.h"
#include "core/page.h"
#include "core/quota.h"
#include "core/validity_slots.h"
#include "core/view.h"

namespace hb::core {

std::optional<Error> refuse_access(const Core& core, const Export& e, const Principal& who, Access want) {
  if (allows(access_of(core.exports, e, who), want)) return std::nullopt;
  if (!allows(e.access, want))
    return failure(HB_READ_ONLY, "write access asked, the export gives only read to anyone");
  return failure(HB_DENIED, "uid ", who.uid,
                 " may read this export, not write it; its owner can grant write");
}

Level level_of(const Core& core, const Export& e, const Range& range, const Principal& who,
               const std::vector<ReadOnlyFact>& given) {
  if (e.all_sealed) return Level::kSealed;
  const auto by_allocation = [](const ReadOnlyFact& a, const ReadOnlyFact& b) {
    return a.allocation < b.allocation;
  };
  std::vector<ReadOnlyFact> facts = given;
  std::sort(facts.begin(), facts.end(), by_allocation);
  const bool binds = reopening_binds(e.owner_uid, who.uid);
  Level weakest = Level::kSealed;
  for (const Chunk& chunk : e.chunks.all().subspan(range.first_chunk, range.chunk_count)) {
    Level level = core.allocations.at(chunk.allocation).sealed ? Level::kSealed : Level::kIntent;
    const auto fact =
        std::lower_bound(facts.begin(), facts.end(), ReadOnlyFact{chunk.allocation, {}}, by_allocation);
    if (fact != facts.end() && fact->allocation == chunk.allocation &&
        (binds || fact->level == Level::kSealed))
      level = std::max(level, fact->level);
    weakest = std::min(weakest, level);
    if (weakest <= Level::kIntent) break;
  }
  return weakest;
}

std::vector<Broker::Candidate> candidates_in(const Core& core, const Export& e, std::span<const Chunk> chunks,
                                             const Principal& who) {
  std::vector<Broker::Candidate> out;
  if (e.all_sealed || !reopening_binds(e.owner_uid, who.uid)) return out;
  for (const Chunk& chunk : chunks) {
    const Allocation& allocation = core.allocations.at(chunk.allocation);
    if (!allocation.sealed) out.push_back({chunk.allocation, allocation.handle, e.owner_uid, who.uid});
  }
  const auto before = [](const auto& a, const auto& b) { return a.allocation < b.allocation; };
  const auto same = [](const auto& a, const auto& b) { return a.allocation == b.allocation; };
  std::sort(out.begin(), out.end(), before);
  out.erase(std::unique(out.begin(), out.end(), same), out.end());
  return out;
}

tl::expected<LeaseId, Error> grant(Call& call, SessionId session_id, std::uint32_t export_slot,
                                   const Terms& terms) {
  Core& core = call.core;
  Session& session = core.sessions.at(session_id.slot());
  Export& e = core.exports.at(export_slot);
  if (auto refused = charge(core, session, Resource::kLeases)) return tl::unexpected(std::move(*refused));
  const ValiditySlots::Granted word = session.validity.take();
  Lease lease;
  lease.offset = terms.range.offset;
  lease.length = terms.range.length;
  lease.layout_version = e.layout_version;
  lease.created = call.now;
  lease.first_chunk = terms.range.first_chunk;
  lease.chunk_count = terms.range.chunk_count;
  lease.session = session_id.slot();
  lease.exported = export_slot;
  lease.validity_slot = word.slot;
  lease.validity_value = word.value;
  lease.order = ++core.last_grant;
  lease.acked_step = e.life == nullptr ? 0 : e.life->step;
  lease.access = terms.access;
  lease.level = terms.level;
  lease.follows = terms.follows;
  lease.pins = terms.pins;
  // Of an ended export nothing is current, however long its memory is kept.
  lease.current = is_current(e.state);
  const std::uint32_t slot = core.leases.emplace(lease);
  link_front<&Lease::of_session>(core.leases, session.leases, slot);
  link_front<&Lease::of_export>(core.leases, e.leases, slot);
  ++e.lease_count;
  note_acquired(call, slot);
  if (terms.pins) ++core.exports.life_of(export_slot).pinning;
  call.out.emplace_back(SetValidity{session_id, word.slot, lease.current ? word.value : 0});
  return core.leases.id_of(slot);
}

std::uint32_t word_of(const Core& core, const Lease& lease) {
  if (!lease.current) return 0;
  const bool grown = lease.follows && lease.offset + lease.length < core.exports.at(lease.exported).size();
  return lease.validity_value | (grown ? kGrownBit : 0);
}

Acquired describe_lease(Core& core, LeaseId id, std::uint32_t max_handles) {
  const Lease& lease = core.leases.at(id.slot());
  const Export& e = core.exports.at(lease.exported);
  Acquired out;
  out.lease = id;
  out.validity_slot = lease.validity_slot;
  out.validity_value = lease.validity_value;
  out.access = lease.access;
  out.level = lease.level;
  out.offset = lease.offset;
  out.length = lease.length;
  out.first_chunk = lease.first_chunk;
  out.chunk_count = lease.chunk_count;
  out.chunk_base = e.chunks.all()[lease.first_chunk].start;
  out.object_bytes = sum_objects(core, e.chunks.all().subspan(lease.first_chunk, lease.chunk_count));
  out.exported = view_of(core, lease.exported);
  out.secret = derive_secret(core.config.master, out.exported.id.value, e.generation);
  out.follows = lease.follows;
  if (max_handles != 0)
    out.page = build_page(core, e, lease.first_chunk, lease.first_chunk + lease.chunk_count, max_handles,
                          lease.level);
  return out;
}

}  // namespace hb::core
