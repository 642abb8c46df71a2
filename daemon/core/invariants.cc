// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "core/invariants.h"

#include <map>
#include <unordered_map>
#include <unordered_set>

#include "core/failure.h"
#include "wire/limits.h"

namespace hb::core {

namespace {

using Verdict = std::string;  // empty: it holds

template <class Table, class Check>
Verdict each(const Table& table, Check check) {
  for (std::uint32_t slot = 0; slot < table.slots(); ++slot) {
    if (!table.live(slot)) continue;
    if (Verdict verdict = check(slot, table.at(slot)); !verdict.empty()) return verdict;
  }
  return {};
}

template <auto Member, class Table, class Check>
Verdict along(const Table& table, std::uint32_t head, std::uint64_t& length, Check check) {
  std::uint32_t before = kNoSlot;
  for (std::uint32_t slot = head; slot != kNoSlot; slot = (table.at(slot).*Member).next) {
    if (!table.live(slot)) return text("a list leads to the free slot ", slot);
    if ((table.at(slot).*Member).previous != before) return text("list broken at slot ", slot);
    if (Verdict verdict = check(table.at(slot)); !verdict.empty()) return verdict;
    before = slot;
    if (++length > table.size()) return "a list is longer than its table";
  }
  return {};
}

Verdict check_chunks(const Core& core, std::span<const Chunk> chunks, std::uint32_t slot,
                     std::unordered_map<std::uint64_t, std::uint64_t>& references) {
  std::uint64_t start = 0;
  for (const Chunk& chunk : chunks) {
    const Allocation* allocation = core.allocations.find(chunk.allocation);
    if (allocation == nullptr) return text("export ", slot, " uses an allocation that has ended");
    if (chunk.start != start || chunk.size == 0) return text("export ", slot, " has a gap at ", start);
    if (chunk.offset > allocation->size || chunk.size > allocation->size - chunk.offset)
      return text("a chunk of export ", slot, " leaves its object");
    start += chunk.size;
    ++references[chunk.allocation.value];
  }
  return {};
}

Verdict check_exports(const Core& core, std::unordered_map<std::uint64_t, std::uint64_t>& references) {
  std::uint64_t live = 0;
  std::uint64_t named = 0;
  const Verdict verdict = each(core.exports.table(), [&](std::uint32_t slot, const Export& e) -> Verdict {
    named += e.name != nullptr ? 1 : 0;
    if (e.name && core.exports.find_name(e.scope, e.owner_uid, *e.name) != slot)
      return text("export ", slot, " is not found by its name");
    switch (e.state) {
      case ExportState::kNew:
        return text("export ", slot, " was never finished");
      case ExportState::kLive:
        ++live;
        if (e.generation == 0 || e.layout_version == 0) return text("live export ", slot, " without version");
        if (e.access == Access::kNone) return text("live export ", slot, " gives nothing");
        if (e.chunks.all().empty()) return text("live export ", slot, " is empty");
        if (!core.sessions.live(e.session)) return text("live export ", slot, " has no session");
        if (core.sessions.at(e.session).principal.uid != e.owner_uid)
          return text("export ", slot, " belongs to another uid's session");
        return check_chunks(core, e.chunks.all(), slot, references);
      case ExportState::kStaging:
        if (!core.sessions.live(e.session)) return text("staging ", slot, " has no session");
        break;
      case ExportState::kEnded:
        if (e.last_end == kNoSlot) return text("ended export ", slot, " is kept but not remembered");
        if (e.session != kNoSlot) return text("ended export ", slot, " has a session");
        break;
    }
    if (!e.chunks.all().empty() || e.leases != kNoSlot || e.metadata || e.acl != 0 || e.placement != 0)
      return text("export ", slot, " is not live and still holds something");
    return {};
  });
  if (!verdict.empty()) return verdict;
  if (live != core.exports.live()) return "count of live exports";
  if (named != core.exports.names()) return "a name leads to no export";
  return {};
}

Verdict check_ends(const Core& core) {
  const auto& ends = core.exports.ends();
  if (ends.size() > core.exports.remembered_limit()) return "more ends remembered than allowed";
  std::uint64_t count = 0;
  Time before = 0;
  for (std::uint32_t number = core.exports.oldest_end(); number != kNoSlot; number = ends.at(number).next) {
    const EndedExport& end = ends.at(number);
    if (end.at < before) return "ends are remembered out of order";
    before = end.at;
    if (!core.exports.table().live(end.exported)) return "an end of no export is remembered";
    const Export& e = core.exports.at(end.exported);
    if (core.exports.past(e, end.generation) != &end) return "a remembered end is not found";
    if (end.generation > e.generation) return "an end of a generation that never was";
    ++count;
  }
  return count == ends.size() ? Verdict() : "an end is lost from the line";
}

Verdict check_leases(const Core& core) {
  return each(core.leases, [&](std::uint32_t slot, const Lease& lease) -> Verdict {
    if (!core.sessions.live(lease.session)) return text("lease ", slot, " has no session");
    if (!core.exports.table().live(lease.exported)) return text("lease ", slot, " has no export");
    const Export& e = core.exports.at(lease.exported);
    const Session& session = core.sessions.at(lease.session);
    if (e.state != ExportState::kLive) return text("lease ", slot, " is on an export that is not live");
    if (e.scope != session.principal.scope) return text("lease ", slot, " crosses scopes");
    if (!allows(e.access, lease.access)) return text("lease ", slot, " has more access than its export");
    if (lease.layout_version != e.layout_version) return text("lease ", slot, " is of another layout");
    if (lease.validity_value == 0 || !session.validity.taken(lease.validity_slot))
      return text("lease ", slot, " has no validity word");
    if (lease.length == 0 || lease.offset + lease.length > e.chunks.bytes())
      return text("lease ", slot, " leaves its export");
    const auto chunks = e.chunks.all();
    const Chunk& first = chunks[lease.first_chunk];
    const Chunk& last = chunks[lease.first_chunk + lease.chunk_count - 1];
    if (lease.offset < first.start || lease.offset >= first.start + first.size ||
        lease.offset + lease.length <= last.start || lease.offset + lease.length > last.start + last.size)
      return text("lease ", slot, " counts the wrong chunks");
    return {};
  });
}

struct Sums {
  std::uint64_t exports = 0, leases = 0, waits = 0, promised = 0, stagings = 0, timed_waits = 0;
  std::uint64_t staged_acls = 0, staged_placements = 0;
};

Verdict check_session(const Core& core, std::uint32_t slot, const Session& session, Sums& sums,
                      std::unordered_map<std::uint64_t, std::uint64_t>& references) {
  std::uint64_t leases = 0;
  std::uint64_t waits = 0;
  const auto own = [&](const auto& entry) {
    return entry.session == slot ? Verdict()
                                 : text("an entry of session ", entry.session, " is on the list of ", slot);
  };
  if (session.ending) return text("session ", slot, " should be gone");
  if (Verdict v = along<&Export::of_session>(core.exports.table(), session.exports, sums.exports, own);
      !v.empty())
    return v;
  if (Verdict v = along<&Lease::of_session>(core.leases, session.leases, leases, own); !v.empty()) return v;
  if (Verdict v = along<&Wait::of_session>(core.waits.table(), session.waits, waits, own); !v.empty())
    return v;
  if (leases != session.charges.of(Resource::kLease) || leases != session.validity.in_use())
    return text("session ", slot, " is charged for other leases than it holds");
  if (waits != session.charges.of(Resource::kWait))
    return text("session ", slot, " is charged for other waits");
  if (session.stagings.size() != session.charges.of(Resource::kStaging) ||
      session.stagings.size() > limits::kSessionStagings)
    return text("session ", slot, " is charged for other stagings");
  for (const auto& staging : session.stagings) {
    const Export& e = core.exports.at(staging->exported);
    if (e.state != ExportState::kStaging || e.session != slot)
      return text("staging of session ", slot, " has no record");
    if (Verdict v = check_chunks(core, staging->chunks, staging->exported, references); !v.empty()) return v;
    sums.promised += staging->handles_to_come;
    sums.staged_acls += staging->acl != 0 ? 1 : 0;
    sums.staged_placements += staging->placement != 0 ? 1 : 0;
  }
  sums.stagings += session.stagings.size();
  sums.leases += leases;
  sums.waits += waits;
  return {};
}

Verdict check_allocations(const Core& core,
                          const std::unordered_map<std::uint64_t, std::uint64_t>& references) {
  std::uint64_t bytes = 0;
  std::unordered_set<std::uint64_t> handles;
  const Verdict verdict =
      each(core.allocations.table(), [&](std::uint32_t slot, const Allocation& allocation) -> Verdict {
        const auto counted = references.find(core.allocations.table().id_of(slot).value);
        if (counted == references.end() || counted->second != allocation.references)
          return text("allocation ", slot, " is counted ", allocation.references, " times");
        if (!handles.insert(allocation.handle.value).second)
          return text("handle of allocation ", slot, " is held twice");
        bytes += allocation.size;
        return {};
      });
  if (!verdict.empty()) return verdict;
  return bytes == core.allocations.bytes() ? Verdict() : "sum of allocation sizes";
}

Verdict check_interned(const Core& core, const Sums& sums) {
  std::uint64_t acls = sums.staged_acls;
  std::uint64_t placements = sums.staged_placements;
  const auto count_export = [&](std::uint32_t, const Export& e) {
    acls += e.acl != 0 ? 1 : 0;
    placements += e.placement != 0 ? 1 : 0;
    return Verdict();
  };
  const auto count_end = [&](std::uint32_t, const EndedExport& end) {
    acls += end.acl != 0 ? 1 : 0;
    return Verdict();
  };
  static_cast<void>(each(core.exports.table(), count_export));
  static_cast<void>(each(core.exports.ends(), count_end));
  if (acls != core.exports.acls().references()) return "an ACL is counted wrongly";
  if (placements != core.exports.placements().references()) return "a placement is counted wrongly";
  return {};
}

}  // namespace

std::string first_broken_invariant(const Core& core) {
  std::unordered_map<std::uint64_t, std::uint64_t> references;
  Sums sums;
  std::map<std::pair<std::uint64_t, std::uint32_t>, std::uint64_t> sessions;
  if (Verdict v = check_exports(core, references); !v.empty()) return v;
  if (Verdict v = check_ends(core); !v.empty()) return v;
  if (Verdict v = check_leases(core); !v.empty()) return v;
  const Verdict verdict = each(core.sessions, [&](std::uint32_t slot, const Session& session) {
    ++sessions[{session.principal.scope.value, session.principal.uid}];
    return check_session(core, slot, session, sums, references);
  });
  if (!verdict.empty()) return verdict;
  if (Verdict v = check_allocations(core, references); !v.empty()) return v;
  if (Verdict v = check_interned(core, sums); !v.empty()) return v;
  for (const auto& [who, count] : sessions)
    if (core.quota.sessions_of(ScopeId{who.first}, who.second) != count)
      return text("uid ", who.second, " is charged for other sessions");
  if (core.quota.sessions() != core.sessions.size()) return "count of sessions";
  if (sums.exports != core.exports.live()) return "a live export is on no session's list";
  if (sums.leases != core.leases.size()) return "a lease is on no session's list";
  if (sums.waits != core.waits.size() || core.waits.in_lines() != core.waits.size())
    return "a wait is on no list or in no line";
  if (sums.promised != core.fds.promised()) return "descriptors promised to no staging";
  std::uint64_t timed = 0;
  static_cast<void>(each(core.waits.table(), [&](std::uint32_t, const Wait& wait) {
    timed += wait.deadline != kNever ? 1 : 0;
    return Verdict();
  }));
  if (timed != core.deadlines.size() || !core.deadlines.ordered()) return "deadlines do not match the waits";
  std::uint64_t on_exports = 0;
  return each(core.exports.table(), [&](std::uint32_t slot, const Export& e) -> Verdict {
    const std::uint64_t before = on_exports;
    const auto own = [&](const Lease& lease) {
      return lease.exported == slot ? Verdict() : text("a lease of another export is on the list of ", slot);
    };
    if (Verdict v = along<&Lease::of_export>(core.leases, e.leases, on_exports, own); !v.empty()) return v;
    return on_exports - before == e.lease_count ? Verdict()
                                                : text("export ", slot, " counts its leases wrongly");
  });
}

}  // namespace hb::core
