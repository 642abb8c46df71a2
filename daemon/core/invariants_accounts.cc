// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include <map>
#include <set>
#include <utility>

#include "core/failure.h"
#include "core/invariants.h"
#include "wire/limits.h"

namespace hb::core {

namespace {

template <class Table, class Use>
void each(const Table& table, Use use) {
  for (std::uint32_t slot = 0; slot < table.slots(); ++slot)
    if (table.live(slot)) use(slot, table.at(slot));
}

struct Counted {
  Used used;
  std::uint64_t references = 0;
  std::uint64_t ends = 0;
  std::map<std::uint32_t, std::uint64_t> chunks_of;  // by allocation slot
};
using ByAccount = std::map<std::uint32_t, Counted>;

void count_chunks(const Core& core, Counted& counted, std::span<const Chunk> chunks) {
  for (const Chunk& chunk : chunks) {
    if (++counted.chunks_of[chunk.allocation.slot()] != 1) continue;
    counted.used.of(Resource::kBytes) += core.allocations.at(chunk.allocation).size;
    ++counted.used.of(Resource::kDescriptors);
  }
}

void count_session(const Core& core, Counted& counted, const Session& session) {
  ++counted.references;
  ++counted.used.of(Resource::kSessions);
  for (const Resource resource : {Resource::kLeases, Resource::kWaits})
    counted.used.of(resource) += session.charges.of(resource);  // held to their lists elsewhere
  counted.used.of(Resource::kStagings) += session.stagings.size();
  counted.used.of(Resource::kGroups) += session.groups.size();
  for (std::uint32_t event = session.events; event != kNoSlot; event = core.events.at(event).of_session.next)
    ++counted.used.of(Resource::kEvents);
  for (const auto& staging : session.stagings) {
    counted.used.of(Resource::kChunks) += staging->total_chunks;
    counted.used.of(Resource::kDescriptors) += staging->handles_to_come;
    counted.used.of(Resource::kExports) += staging->change == ChangeRequest::Kind::kNone ? 1 : 0;
    count_chunks(core, counted, staging->chunks);
  }
}

ByAccount count_all(const Core& core) {
  ByAccount all;
  each(core.sessions, [&](std::uint32_t, const Session& session) {
    if (session.account != kNoSlot) count_session(core, all[session.account], session);
  });
  each(core.exports.table(), [&](std::uint32_t, const Export& e) {
    Counted& counted = all[e.account];
    ++counted.references;
    counted.used.of(Resource::kExports) += is_current(e.state) ? 1 : 0;
    counted.used.of(Resource::kChunks) += e.chunks.all().size();
    count_chunks(core, counted, e.chunks.all());
  });
  each(core.tickets.table(), [&](std::uint32_t, const Ticket& ticket) {
    if (ticket.end != TicketEnd::kNone) return;
    Counted& counted = all[ticket.account];
    ++counted.references;
    ++counted.used.of(Resource::kTickets);
  });
  return all;
}

std::string check_ends(const Core& core, std::uint32_t slot, const Account& account) {
  std::uint64_t ends = 0;
  std::uint32_t before = kNoSlot;
  for (std::uint32_t end = account.oldest_end; end != kNoSlot;
       end = core.exports.at(end).of_account.next, ++ends) {
    if (ends > account.ends || !core.exports.table().live(end) || core.exports.at(end).account != slot ||
        core.exports.at(end).of_account.previous != before)
      return text("the line of ends of account ", slot, " is broken");
    before = end;
  }
  if (before != account.youngest_end || ends != account.ends)
    return text("account ", slot, " counts its ends wrongly");
  return {};
}

}  // namespace

std::string check_accounts(const Core& core) {
  const ByAccount counted = count_all(core);
  std::map<std::uint64_t, Used> by_scope;
  std::map<std::uint64_t, std::uint64_t> accounts_of;
  std::uint64_t further = 0;
  std::uint64_t ends = 0;
  std::set<std::uint32_t> paid;
  for (const auto& [slot, count] : counted) {
    if (!core.accounts.table().live(slot)) return text("account ", slot, " is charged and not there");
    const Account& account = core.accounts.at(slot);
    if (account.references != count.references)
      return text("account ", slot, " has ", account.references, " references, counted ", count.references);
    for (std::size_t i = 0; i < kResources; ++i) {
      const auto resource = static_cast<Resource>(i);
      if (account.used.of(resource) != count.used.of(resource))
        return text("account ", slot, " is charged for ", account.used.of(resource), " ",
                    text_of(resource).key, ", has ", count.used.of(resource));
      by_scope[account.scope.value].of(resource) += account.used.of(resource);
    }
    for (const auto& [allocation, chunks] : count.chunks_of) {
      if (core.allocations.paid_by(core.allocations.table().id_of(allocation), slot) != chunks)
        return text("allocation ", allocation, " is paid wrongly by account ", slot);
      if (core.allocations.table().at(allocation).payer != slot) ++further;
      paid.insert(allocation);
    }
    if (std::string broken = check_ends(core, slot, account); !broken.empty()) return broken;
    ends += account.ends;
    ++accounts_of[account.scope.value];
  }
  if (counted.size() != core.accounts.table().size()) return "an account that nothing is charged to";
  if (further != core.allocations.further_payers()) return "an allocation has a payer without chunks";
  if (ends != core.exports.remembered()) return "a remembered end is on no account's line";
  for (const auto& [id, scope] : core.accounts.scopes()) {
    if (!(scope.used == by_scope[id])) return text("scope ", scope.name, " is charged wrongly");
    if (scope.accounts != accounts_of[id]) return text("scope ", scope.name, " counts its accounts wrongly");
  }
  return {};
}

}  // namespace hb::core
