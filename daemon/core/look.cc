// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include <algorithm>

#include "core/access_rules.h"
#include "core/failure.h"
#include "core/lookup.h"
#include "core/quota.h"
#include "core/verbs.h"
#include "core/view.h"
#include "wire/limits.h"

namespace hb::core {

namespace {

// A page ends early after so many slots, with a cursor: a caller who may see little must not make the others
// wait while it searches much.
constexpr std::uint32_t kSlotsPerLook = 16'384;

// Cursors are slot numbers + 1; 0 begins and ends. Calls visit(slot) for each slot of the page until it
// says false, and returns the next cursor.
template <class Visit>
std::uint64_t walk(std::uint64_t cursor, std::uint32_t slots, Visit visit) {
  const std::uint64_t from = cursor == 0 ? 0 : cursor - 1;
  for (std::uint64_t slot = from; slot < slots; ++slot)
    if (slot - from == kSlotsPerLook || !visit(static_cast<std::uint32_t>(slot))) return slot + 1;
  return 0;
}

// Leases come first, then tickets: their cursors are above those of all lease slots.
constexpr std::uint64_t kTicketCursor = std::uint64_t{1} << 33;

// Of one page of quotas: 13 resources of at most 40 B each.
constexpr std::size_t kAccountsPerPage = 64;

// At most what one entry of a list takes in a frame.
std::size_t listed_bytes(const Placement& placement) {
  constexpr std::size_t kAround = 16;  // tags, lengths, partition
  std::size_t bytes = limits::kListEntryBytes;
  for (const Device& peer : placement.peers) bytes += peer.uuid.size() + peer.pci.size() + kAround;
  return bytes;
}
static_assert(limits::kListEntryBytes +
                  limits::kExportPeers * (limits::kDeviceUuidBytes + limits::kDevicePciBytes + 16) <=
              limits::kListBytes);

}  // namespace

Outcome list(Call& call, Asker& asker, const ListRequest& request) {
  const Core& core = call.core;
  const Principal& principal = asker.session.principal;
  if (auto refused = refuse_verb(core, principal, Verb::kList)) return std::move(*refused);
  Listed listed;
  std::size_t bytes = 0;
  listed.next_cursor = walk(request.cursor, core.exports.table().slots(), [&](std::uint32_t slot) {
    if (listed.exports.size() == limits::kListEntries) return false;
    if (!core.exports.table().live(slot)) return true;
    const Export& e = core.exports.at(slot);
    const bool held = request.ended && has_ended(e.state) && e.is_held();
    if ((!is_current(e.state) && !held) || !may_see(core.exports, e, principal)) return true;
    const Name* const named = core.exports.name_of(e);
    const std::string_view name = named != nullptr ? std::string_view(named->text) : std::string_view();
    if (!name.starts_with(request.prefix)) return true;
    bytes += listed_bytes(core.exports.placements().at(e.placement));
    if (bytes > limits::kListBytes) return false;  // never the first of a page
    listed.exports.push_back(info_of(core, slot, call.now));
    return true;
  });
  return listed;
}

Outcome show(Call& call, Asker& asker, const ShowRequest& request) {
  const Core& core = call.core;
  const Principal& principal = asker.session.principal;
  if (auto refused = refuse_verb(core, principal, Verb::kList)) return std::move(*refused);
  auto found = find_to_look(core, principal, request.target);
  if (!found) return std::move(found.error());
  const Export& e = core.exports.at(*found);
  const std::span<const Chunk> chunks = e.chunks.all();
  if (request.first_chunk > chunks.size() || (request.first_chunk == chunks.size() && !chunks.empty()))
    return failure(HB_RANGE, "chunk ", request.first_chunk, " asked, the export has ", chunks.size());
  Shown shown;
  shown.info = info_of(core, *found, call.now);
  if (is_owner_or_admin(e, principal)) shown.acl = core.exports.acls().at(e.acl);
  const auto rest = chunks.subspan(request.first_chunk);
  const std::size_t count = std::min(rest.size(), limits::kListEntries);
  for (const Chunk& chunk : rest.first(count))
    shown.chunks.push_back({chunk.start, chunk.size, chunk.allocation, chunk.offset,
                            core.allocations.at(chunk.allocation).size});
  shown.more_chunks = count < rest.size();
  shown.info.handles.reserve(chunks.size());
  for (const Chunk& chunk : chunks)
    shown.info.handles.push_back(core.allocations.at(chunk.allocation).handle);
  return shown;
}

Outcome who(Call& call, Asker& asker, const WhoRequest& request) {
  const Core& core = call.core;
  const Principal& principal = asker.session.principal;
  if (auto refused = refuse_verb(core, principal, Verb::kList)) return std::move(*refused);
  std::uint32_t only = kNoSlot;
  std::uint32_t name = kNoSlot;  // all that bear or bore it
  if (!std::holds_alternative<std::monostate>(request.target)) {
    auto found = find_to_look(core, principal, request.target);
    if (!found) return std::move(found.error());
    only = *found;
    if (std::holds_alternative<NameRef>(request.target)) name = core.exports.at(only).name;
  }
  const auto visible = [&](const Lease& lease) {
    return is_owner_or_admin(core.exports.at(lease.exported), principal) ||
           same_principal(core.sessions.at(lease.session).principal, principal);
  };
  const auto visible_ticket = [&](const Ticket& ticket) {
    return is_owner_or_admin(core.exports.at(ticket.exported.slot()), principal) ||
           (ticket.scope == principal.scope && ticket.uid == principal.uid);
  };
  WhoListed listed;
  const bool one_record = name == kNoSlot || core.exports.names().at(name).records == 1;
  if (only != kNoSlot && one_record && request.cursor == 0 &&
      core.exports.at(only).lease_count + core.exports.at(only).ticket_count() <= limits::kListEntries) {
    for (std::uint32_t slot = core.exports.at(only).leases; slot != kNoSlot;
         slot = core.leases.at(slot).of_export.next)
      if (visible(core.leases.at(slot))) listed.holders.push_back(holder_of(core, slot, call.now));
    if (core.exports.at(only).ticket_count() == 0) return listed;
    for (std::uint32_t slot = core.exports.at(only).life->tickets; slot != kNoSlot;
         slot = core.tickets.at(slot).of_export.next)
      if (visible_ticket(core.tickets.at(slot)))
        listed.holders.push_back(holder_of_ticket(core, slot, call.now));
    return listed;
  }
  const auto is_meant = [&](std::uint32_t exported) {
    return only == kNoSlot || exported == only || (name != kNoSlot && core.exports.at(exported).name == name);
  };
  if (request.cursor < kTicketCursor) {
    listed.next_cursor = walk(request.cursor, core.leases.slots(), [&](std::uint32_t slot) {
      if (listed.holders.size() == limits::kListEntries) return false;
      if (!core.leases.live(slot)) return true;
      const Lease& lease = core.leases.at(slot);
      if (is_meant(lease.exported) && visible(lease))
        listed.holders.push_back(holder_of(core, slot, call.now));
      return true;
    });
    if (listed.next_cursor == 0 && core.tickets.standing() != 0) listed.next_cursor = kTicketCursor;
    return listed;
  }
  const std::uint64_t next =
      walk(request.cursor - kTicketCursor, core.tickets.table().slots(), [&](std::uint32_t slot) {
        if (listed.holders.size() == limits::kListEntries) return false;
        if (!core.tickets.table().live(slot)) return true;
        const Ticket& ticket = core.tickets.at(slot);
        if (ticket.end == TicketEnd::kNone && is_meant(ticket.exported.slot()) && visible_ticket(ticket))
          listed.holders.push_back(holder_of_ticket(core, slot, call.now));
        return true;
      });
  listed.next_cursor = next == 0 ? 0 : kTicketCursor + next;
  return listed;
}

Counters count(const Core& core) {
  Counters counters;
  counters.sessions = core.sessions.size();
  counters.exports = core.exports.current();
  counters.allocations = core.allocations.size();
  counters.leases = core.leases.size();
  counters.waits = core.waits.size();
  for (std::uint32_t slot = 0; slot < core.sessions.slots(); ++slot)
    if (core.sessions.live(slot)) counters.stagings += core.sessions.at(slot).stagings.size();
  counters.ended_remembered = core.exports.remembered();
  counters.ended_held = core.exports.ended_held();
  counters.tickets = core.tickets.standing();
  counters.events_pending = core.events.size();
  counters.groups = core.groups.size();
  counters.bytes = core.allocations.bytes();
  return counters;
}

Outcome list_quotas(Call& call, Asker& asker, const QuotaListRequest& request) {
  const Core& core = call.core;
  const Principal& principal = asker.session.principal;
  QuotaListed listed;
  const auto add = [&](std::uint32_t slot) {
    const Account& account = core.accounts.at(slot);
    AccountView& view = listed.accounts.emplace_back();
    view.scope = core.accounts.find_scope(account.scope)->name;
    view.uid = account.uid;
    view.used = account.used.all();
    Principal whose;
    whose.limits = account.limits;
    for (std::size_t i = 0; i < kResources; ++i) {
      const auto resource = static_cast<Resource>(i);
      view.limits.set(resource, limit_of(core, whose, resource));
    }
  };
  if (!principal.admin) {
    add(asker.session.account);
    return listed;
  }
  const AccountTable::Table& accounts = core.accounts.table();
  if (request.cursor < kTicketCursor) {
    listed.next_cursor = walk(request.cursor, accounts.slots(), [&](std::uint32_t slot) {
      if (listed.accounts.size() == kAccountsPerPage) return false;
      if (accounts.live(slot)) add(slot);
      return true;
    });
    if (listed.next_cursor == 0) listed.next_cursor = kTicketCursor;
    return listed;
  }
  // The scopes as wholes, in the order of their ids, the main one first.
  std::vector<std::uint64_t> ids;
  for (const auto& [id, scope] : core.accounts.scopes())
    if (id >= request.cursor - kTicketCursor) ids.push_back(id);
  std::sort(ids.begin(), ids.end());
  for (const std::uint64_t id : ids) {
    if (listed.accounts.size() == kAccountsPerPage) {
      listed.next_cursor = kTicketCursor + id;
      break;
    }
    const Scope& scope = *core.accounts.find_scope(ScopeId{id});
    AccountView& view = listed.accounts.emplace_back();
    view.scope = scope.name;
    view.whole_scope = true;
    view.used = scope.used.all();
    view.limits = scope.total;
  }
  return listed;
}

Outcome status(Call& call, Asker& asker) {
  if (!asker.session.principal.admin)
    return failure(HB_DENIED, "the daemon's counters are on the admin socket only");
  return count(call.core);
}

}  // namespace hb::core
