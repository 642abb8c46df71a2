// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "core/audit.h"

#include <unordered_map>
#include <utility>
#include <variant>

#include "core/core.h"
#include "core/failure.h"
#include "wire/key.h"

namespace hb::core {
namespace {

Audit record_of(const Session& session, AuditKind kind) {
  Audit audit;
  audit.kind = kind;
  audit.uid = session.principal.uid;
  audit.admin = session.principal.admin;
  audit.process = session.process;
  return audit;
}

void name_export(const Core& core, std::uint32_t slot, Audit& audit) {
  const Export& e = core.exports.at(slot);
  audit.exported = core.exports.id_of(slot);
  if (const Name* const name = core.exports.name_of(e)) audit.name = name->text;
  audit.owner_uid = e.owner_uid;
  audit.generation = e.generation;
}

const Target* target_of(const Request& request) {
  return std::visit(
      [](const auto& r) -> const Target* {
        if constexpr (requires { r.target; })
          return &r.target;
        else
          return nullptr;
      },
      request);
}

ExportId id_in(const Request& request) {
  return std::visit(
      [](const auto& r) {
        if constexpr (requires { ExportId(r.id); })
          return ExportId(r.id);
        else
          return ExportId();
      },
      request);
}

// What the request is about, as far as it tells. A key tells its export whether it is true or not; that of a
// ticket is another number.
void name_thing(const Core& core, const Session& session, const Request& request, Audit& audit) {
  ExportId id = id_in(request);
  if (const Target* const target = target_of(request)) {
    if (const auto* const key = std::get_if<KeyBytes>(target)) {
      const KeyFields fields = decode_key(*key);
      if (fields.kind == KeyKind::kKey) id = ExportId{fields.export_id};
    } else if (const auto* const named = std::get_if<NameRef>(target)) {
      audit.name = named->name;
      audit.owner_uid = named->owner_uid.value_or(session.principal.uid);
    } else if (const auto* const by_id = std::get_if<ExportId>(target)) {
      id = *by_id;
    }
  } else if (const auto* const first = std::get_if<ExportRequest>(&request)) {
    audit.name = first->name;
    audit.owner_uid = session.principal.uid;
  }
  if (!id) return;
  audit.exported = id;
  const Export* const e = core.exports.find(id);
  if (e != nullptr && e->scope == session.principal.scope) name_export(core, id.slot(), audit);
}

}  // namespace

std::uint32_t LeaseSetTable::join(std::uint32_t session, std::uint32_t exported, Time now) {
  const std::uint32_t hash =
      hash_(KeyedHash::Input().add(std::uint64_t{session} << 32 | std::uint64_t{exported}));
  std::uint32_t set = index_.find(hash, [&](std::uint32_t slot) {
    const LeaseSet& candidate = table_.at(slot);
    return candidate.session == session && candidate.exported == exported;
  });
  if (set == kNoSlot) {
    set = table_.emplace(LeaseSet{now, 0, 0, session, exported, hash});
    index_.insert(hash, set);
  }
  LeaseSet& joined = table_.at(set);
  ++joined.acquires;
  ++joined.live;
  return set;
}

LeaseSet& LeaseSetTable::leave(std::uint32_t set) {
  --table_.at(set).live;
  return table_.at(set);
}

void LeaseSetTable::erase(std::uint32_t set) {
  index_.erase(table_.at(set).hash, set);
  table_.erase(set);
}

void note_acquired(Call& call, std::uint32_t lease_slot) {
  Core& core = call.core;
  Lease& lease = core.leases.at(lease_slot);
  lease.set = core.lease_sets.join(lease.session, lease.exported, call.now);
  if (core.lease_sets.at(lease.set).acquires != 1) return;
  Audit audit = record_of(core.sessions.at(lease.session), AuditKind::kAcquired);
  name_export(core, lease.exported, audit);
  audit.count = 1;
  call.out.emplace_back(std::move(audit));
}

void note_released(Call& call, const Lease& lease) {
  Core& core = call.core;
  const LeaseSet& set = core.lease_sets.leave(lease.set);
  if (set.live != 0) return;
  Audit audit = record_of(core.sessions.at(lease.session), AuditKind::kReleased);
  name_export(core, lease.exported, audit);
  audit.count = set.acquires;
  audit.held_ns = call.now - set.since;
  core.lease_sets.erase(lease.set);
  call.out.emplace_back(std::move(audit));
}

bool is_refusal(hb_status status, bool by_key) {
  switch (status) {
    case HB_DENIED:
    case HB_QUOTA:
    case HB_NO_FDS:
    case HB_PROTO:
    case HB_VERSION:
    case HB_BAD_HANDLE:
    case HB_UNTRUSTED:
      return true;
    case HB_NOT_FOUND:
      return by_key;
    default:
      return false;
  }
}

Audit refusal_of(const Error& error) {
  Audit audit;
  audit.kind = error.status == HB_QUOTA ? AuditKind::kQuota : AuditKind::kRefused;
  audit.count = 1;
  audit.status = error.status;
  audit.reason = error.message;
  audit.what = error.what;
  audit.used = error.used;
  audit.limit = error.limit;
  audit.who = error.who;
  return audit;
}

void note_refused(Call& call, const Asker& asker, const Error& error) {
  const Target* const target = asker.request == nullptr ? nullptr : target_of(*asker.request);
  const bool by_key = target != nullptr && std::holds_alternative<KeyBytes>(*target);
  if (!is_refusal(error.status, by_key)) return;
  Audit audit = refusal_of(error);
  const Principal& principal = asker.session.principal;
  audit.uid = principal.uid;
  audit.admin = principal.admin;
  audit.process = asker.session.process;
  if (asker.request != nullptr) name_thing(call.core, asker.session, *asker.request, audit);
  audit.frame_type = asker.frame_type;
  call.out.emplace_back(std::move(audit));
}

void note_revoked(Call& call, const Asker& asker, std::uint32_t export_slot) {
  Audit audit = record_of(asker.session, AuditKind::kRevoked);
  name_export(call.core, export_slot, audit);
  audit.frame_type = asker.frame_type;
  audit.count = call.core.exports.at(export_slot).lease_count;
  call.out.emplace_back(std::move(audit));
}

std::string first_broken_lease_set(const Core& core) {
  std::unordered_map<std::uint32_t, std::uint32_t> leases;
  for (std::uint32_t slot = 0; slot < core.leases.slots(); ++slot) {
    if (!core.leases.live(slot)) continue;
    const Lease& lease = core.leases.at(slot);
    if (!core.lease_sets.live(lease.set)) return text("lease ", slot, " is counted in no set");
    const LeaseSet& set = core.lease_sets.at(lease.set);
    if (set.session != lease.session || set.exported != lease.exported)
      return text("lease ", slot, " is counted in another's set");
    ++leases[lease.set];
  }
  for (const auto& [slot, count] : leases) {
    const LeaseSet& set = core.lease_sets.at(slot);
    if (set.live != count || set.acquires < count) return text("set ", slot, " counts its leases wrongly");
  }
  if (leases.size() != core.lease_sets.size() || leases.size() != core.lease_sets.indexed())
    return "a set without leases";
  return {};
}

}  // namespace hb::core
