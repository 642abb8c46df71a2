// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include <algorithm>

#include "core/access_rules.h"
#include "core/ending.h"
#include "core/event_table.h"
#include "core/failure.h"
#include "core/grant.h"
#include "core/lookup.h"
#include "core/page.h"
#include "core/ticket.h"
#include "core/verbs.h"

namespace hb::core {

namespace {

// Where an acquire would lead: all checks but quota and level passed.
struct Granted {
  std::uint32_t slot = kNoSlot;
  std::uint32_t ticket = kNoSlot;
  Terms terms;
};

tl::expected<Granted, Error> check(const Core& core, const Principal& who, const AcquireRequest& request) {
  if (who.admin)
    return tl::unexpected(failure(
        HB_DENIED, "the admin socket looks and takes back, it acquires nothing: use the main socket"));
  if (auto refused = refuse_verb(core, who, Verb::kAcquire)) return tl::unexpected(std::move(*refused));
  if (request.access != Access::kRead && request.access != Access::kReadWrite)
    return tl::unexpected(failure(HB_INVALID, "access must be 1 (read) or 3 (read and write), not ",
                                  static_cast<unsigned>(request.access)));
  if (request.demand > Level::kSealed)
    return tl::unexpected(failure(HB_INVALID, "read-only level ", static_cast<unsigned>(request.demand),
                                  " is not known; 3 (sealed) is the highest"));
  if (std::holds_alternative<ExportId>(request.target))
    return tl::unexpected(failure(HB_INVALID, "an export id is no right: acquire by key or name"));
  const auto found = is_ticket(request.target) ? find_by_ticket(core, who, std::get<KeyBytes>(request.target))
                                               : find_target(core, who, request.target);
  if (!found) return tl::unexpected(found.error());
  const Export& e = core.exports.at(found->slot);
  if (auto refused = refuse_access(core, e, who, request.access)) return tl::unexpected(std::move(*refused));
  if (e.state == ExportState::kSuspended && e.life->awaited)
    return tl::unexpected(failure(HB_SUSPENDED,
                                  "a restart of the daemon lost the memory of this export, and its owner has "
                                  "still to bring it back; it is gone if the owner does not come in time"));
  if (e.state == ExportState::kSuspended)
    return tl::unexpected(failure(HB_SUSPENDED,
                                  "the export is asleep: its owner suspended it; wait until it "
                                  "is resumed"));
  const auto range = range_in(e, *found, request.offset, request.length);
  if (!range) return tl::unexpected(range.error());
  Granted granted{found->slot,
                  found->ticket,
                  {*range, request.access, Level::kNone, found->follows && request.length == 0}};
  granted.terms.pins = found->ticket != kNoSlot;
  if (granted.terms.pins && !allows(core.tickets.at(found->ticket).access, request.access))
    return tl::unexpected(failure(HB_READ_ONLY, "write access asked, the ticket gives only read"));
  return granted;
}

}  // namespace

std::vector<Broker::Candidate> candidates_of(const Core& core, const Principal& who,
                                             const AcquireRequest& request) {
  if (request.access != Access::kRead) return {};
  const auto granted = check(core, who, request);
  if (!granted) return {};
  const Export& e = core.exports.at(granted->slot);
  const Range& range = granted->terms.range;
  return candidates_in(core, e, e.chunks.all().subspan(range.first_chunk, range.chunk_count), who);
}

Outcome acquire(Call& call, Asker& asker, AcquireRequest& request) {
  Core& core = call.core;
  const Principal& principal = asker.session.principal;
  auto granted = check(core, principal, request);
  if (!granted) {
    const hb_status status = granted.error().status;
    const bool by_name = std::holds_alternative<NameRef>(request.target);
    if ((status == HB_NOT_FOUND || status == HB_SUSPENDED) && by_name && request.wait_ns != 0)
      return park(call, asker, request);
    return std::move(granted.error());
  }
  Terms& terms = granted->terms;
  if (request.access == Access::kRead)
    terms.level = level_of(core, core.exports.at(granted->slot), terms.range, principal, request.facts);
  if (terms.level < request.demand)
    return failure(HB_LEVEL, "read-only level ", level_name(request.demand), " demanded, ",
                   level_name(terms.level), " is what holds");
  const auto lease = grant(call, asker.id, granted->slot, terms);
  if (!lease) return lease.error();
  // The lease pins before the ticket ends.
  if (granted->ticket != kNoSlot) end_ticket(call, granted->ticket, TicketEnd::kUsed);
  return describe_lease(core, *lease, std::max(request.max_handles, 1u));
}

namespace {

// The lease that a request names, if the asker holds it and something can still be had of it.
tl::expected<std::uint32_t, Error> held(const Core& core, const Asker& asker, LeaseId id) {
  const Lease* lease = core.leases.find(id);
  if (lease == nullptr || lease->session != asker.id.slot())
    return tl::unexpected(failure(HB_NOT_HELD, "lease ", id.value,
                                  " is not held by this session: released already, or never granted"));
  const Export& e = core.exports.at(lease->exported);
  // Of an ended one chunks are left as long as a ticket, or what came of one, pins them.
  if (has_ended(e.state) && e.chunks.all().empty()) return tl::unexpected(ended_error(core, e));
  if (e.state == ExportState::kSuspended)
    return tl::unexpected(failure(HB_SUSPENDED, "the export is asleep; wait until it is resumed"));
  return id.slot();
}

}  // namespace

Outcome fetch(Call& call, Asker& asker, const FetchRequest& request) {
  Core& core = call.core;
  const auto slot = held(core, asker, request.lease);
  if (!slot) return slot.error();
  const Lease& lease = core.leases.at(*slot);
  const Export& e = core.exports.at(lease.exported);
  const std::uint32_t end = lease.first_chunk + lease.chunk_count;
  if (request.first < lease.first_chunk || request.first >= end)
    return failure(HB_RANGE, "chunk ", request.first, " is outside the granted chunks ", lease.first_chunk,
                   " to ", end - 1);
  if (e.life != nullptr &&
      e.life->changes.touched_since(lease.layout_version, {lease.first_chunk, lease.chunk_count}))
    return failure(HB_STALE, "the chunks changed: the lease is of layout version ", lease.layout_version,
                   ", the export is at ", e.layout_version, "; refresh the lease");
  return Fetched{
      build_page(core, e, static_cast<std::uint32_t>(request.first), end, request.max_handles, lease.level)};
}

std::vector<Broker::Candidate> candidates_of(const Core& core, const Asker& asker,
                                             const RefreshRequest& request) {
  const auto slot = held(core, asker, request.lease);
  if (!slot) return {};
  const Lease& lease = core.leases.at(*slot);
  if (lease.access != Access::kRead) return {};
  const Export& e = core.exports.at(lease.exported);
  const auto chunks = e.chunks.all().subspan(lease.first_chunk);
  return candidates_in(core, e, lease.follows ? chunks : chunks.first(lease.chunk_count),
                       asker.session.principal);
}

Outcome refresh(Call& call, Asker& asker, const RefreshRequest& request) {
  Core& core = call.core;
  const auto slot = held(core, asker, request.lease);
  if (!slot) return slot.error();
  Lease& lease = core.leases.at(*slot);
  const Export& e = core.exports.at(lease.exported);
  Range range{lease.offset, lease.length, lease.first_chunk, lease.chunk_count};
  if (lease.follows) {
    range.length = e.size() - range.offset;
    range.chunk_count = static_cast<std::uint32_t>(e.chunks.all().size()) - range.first_chunk;
  }
  if (lease.access == Access::kRead) {
    const Level level = level_of(core, e, range, asker.session.principal, request.facts);
    if (level < lease.level)
      return failure(HB_LEVEL, "the lease has read-only level ", level_name(lease.level),
                     ", with the chunks that came it would be ", level_name(level), "; acquire anew");
  }
  Refreshed out;
  if (e.life != nullptr)
    for (ChunkRun run : e.life->changes.since(request.have_version, e.chunks.all().size())) {
      const std::uint64_t first = std::max<std::uint64_t>(run.first, range.first_chunk);
      const std::uint64_t end =
          std::min<std::uint64_t>(run.first + run.count, range.first_chunk + range.chunk_count);
      if (first < end) out.changed.push_back({first, end - first});
    }
  lease.length = range.length;
  lease.chunk_count = range.chunk_count;
  lease.layout_version = e.layout_version;
  lease.validity_value = asker.session.validity.renew(lease.validity_slot);
  // Of an ended export nothing is current any more.
  lease.current = is_current(e.state);
  if (lease.current) call.out.emplace_back(SetValidity{asker.id, lease.validity_slot, lease.validity_value});
  forget_layout_events(core, *slot);
  out.grant = describe_lease(core, request.lease, 0);
  return out;
}

Outcome release(Call& call, Asker& asker, const ReleaseRequest& request) {
  const Lease* lease = call.core.leases.find(request.lease);
  if (lease == nullptr || lease->session != asker.id.slot())
    return failure(HB_NOT_HELD, "lease ", request.lease.value,
                   " is not held by this session: released already, or never granted");
  end_lease(call, request.lease.slot());
  return failure(HB_OK);
}

}  // namespace hb::core
