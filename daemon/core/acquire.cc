// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include <algorithm>

#include "core/access_rules.h"
#include "core/ending.h"
#include "core/failure.h"
#include "core/lookup.h"
#include "core/page.h"
#include "core/verbs.h"
#include "core/view.h"

namespace hb::core {

namespace {

// Where an acquire would lead: all checks but quota and level passed.
struct Granted {
  std::uint32_t slot = kNoSlot;
  Range range;
};

std::optional<Error> refuse_access(const Core& core, const Export& e, const Principal& who, Access want) {
  if (allows(access_of(core.exports, e, who), want)) return std::nullopt;
  if (!allows(e.access, want))
    return failure(HB_READ_ONLY, "write access asked, the export gives only read to anyone");
  return failure(HB_DENIED, "uid ", who.uid,
                 " may read this export, not write it; its owner can grant write");
}

tl::expected<Granted, Error> check(const Core& core, const Principal& who, const AcquireRequest& request) {
  if (who.admin)
    return tl::unexpected(failure(
        HB_DENIED, "the admin socket looks and takes back, it acquires nothing: use the main socket"));
  if (request.access != Access::kRead && request.access != Access::kReadWrite)
    return tl::unexpected(failure(HB_INVALID, "access must be 1 (read) or 3 (read and write), not ",
                                  static_cast<unsigned>(request.access)));
  if (request.demand > Level::kSealed)
    return tl::unexpected(failure(HB_INVALID, "read-only level ", static_cast<unsigned>(request.demand),
                                  " is not known; 3 (sealed) is the highest"));
  if (std::holds_alternative<ExportId>(request.target))
    return tl::unexpected(failure(HB_INVALID, "an export id is no right: acquire by key or name"));
  const auto found = find_target(core, who, request.target);
  if (!found) return tl::unexpected(found.error());
  const Export& e = core.exports.at(found->slot);
  if (auto refused = refuse_access(core, e, who, request.access)) return tl::unexpected(std::move(*refused));
  const auto range = range_in(e, *found, request.offset, request.length);
  if (!range) return tl::unexpected(range.error());
  return Granted{found->slot, *range};
}

// The weakest level over the chunks of the range. A fact says what holds now; without one a reader's
// restraint is all there is.
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

}  // namespace

std::vector<Broker::Candidate> candidates_of(const Core& core, const Principal& who,
                                             const AcquireRequest& request) {
  std::vector<Broker::Candidate> out;
  if (request.access != Access::kRead) return out;
  const auto granted = check(core, who, request);
  if (!granted) return out;
  const Export& e = core.exports.at(granted->slot);
  if (e.all_sealed || !reopening_binds(e.owner_uid, who.uid)) return out;
  const auto chunks = e.chunks.all().subspan(granted->range.first_chunk, granted->range.chunk_count);
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
  out.page =
      build_page(core, e, lease.first_chunk, lease.first_chunk + lease.chunk_count, max_handles, lease.level);
  return out;
}

Outcome acquire(Call& call, Asker& asker, AcquireRequest& request) {
  Core& core = call.core;
  const Principal& principal = asker.session.principal;
  auto granted = check(core, principal, request);
  if (!granted) {
    const bool by_name = std::holds_alternative<NameRef>(request.target);
    if (granted.error().status == HB_NOT_FOUND && by_name && request.wait_ns != 0)
      return park(call, asker, request);
    return std::move(granted.error());
  }
  Export& e = core.exports.at(granted->slot);
  const Level level = request.access == Access::kRead
                          ? level_of(core, e, granted->range, principal, request.facts)
                          : Level::kNone;
  if (level < request.demand)
    return failure(HB_LEVEL, "read-only level ", level_name(request.demand), " demanded, ", level_name(level),
                   " is what holds");
  if (auto refused = Quota::charge(Resource::kLease, asker.session.charges, principal.uid))
    return std::move(*refused);

  const ValiditySlots::Granted word = asker.session.validity.take();
  Lease lease;
  lease.offset = granted->range.offset;
  lease.length = granted->range.length;
  lease.layout_version = e.layout_version;
  lease.created = call.now;
  lease.first_chunk = granted->range.first_chunk;
  lease.chunk_count = granted->range.chunk_count;
  lease.session = asker.id.slot();
  lease.exported = granted->slot;
  lease.validity_slot = word.slot;
  lease.validity_value = word.value;
  lease.access = request.access;
  lease.level = level;
  const std::uint32_t slot = core.leases.emplace(lease);
  link_front<&Lease::of_session>(core.leases, asker.session.leases, slot);
  link_front<&Lease::of_export>(core.leases, e.leases, slot);
  ++e.lease_count;
  call.out.emplace_back(SetValidity{asker.id, word.slot, word.value});
  return describe_lease(core, core.leases.id_of(slot), request.max_handles);
}

Outcome fetch(Call& call, Asker& asker, const FetchRequest& request) {
  Core& core = call.core;
  const Lease* lease = core.leases.find(request.lease);
  if (lease == nullptr || lease->session != asker.id.slot())
    return failure(HB_NOT_HELD, "lease ", request.lease.value,
                   " is not held by this session: released, ended with its export, or never granted");
  const Export& e = core.exports.at(lease->exported);
  const std::uint32_t end = lease->first_chunk + lease->chunk_count;
  if (request.first < lease->first_chunk || request.first >= end)
    return failure(HB_RANGE, "chunk ", request.first, " is outside the granted chunks ", lease->first_chunk,
                   " to ", end - 1);
  return Fetched{
      build_page(core, e, static_cast<std::uint32_t>(request.first), end, request.max_handles, lease->level)};
}

Outcome release(Call& call, Asker& asker, const ReleaseRequest& request) {
  const Lease* lease = call.core.leases.find(request.lease);
  if (lease == nullptr || lease->session != asker.id.slot())
    return failure(HB_NOT_HELD, "lease ", request.lease.value,
                   " is not held by this session: released already, ended with its export, or never granted");
  end_lease(call, request.lease.slot());
  return failure(HB_OK);
}

}  // namespace hb::core
