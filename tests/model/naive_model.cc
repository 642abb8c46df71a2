// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "model/naive_model.h"

#include <algorithm>
#include <set>
#include <utility>

#include "wire/limits.h"

namespace hb::test {

using namespace core;

namespace {

Access granted_by(const std::vector<AclEntry>& acl, const Principal& who) {
  Access best = Access::kNone;
  for (const AclEntry& entry : acl) {
    const bool mine = entry.kind == AclEntry::Kind::kUid
                          ? entry.id == who.uid
                          : std::count(who.groups.begin(), who.groups.end(), entry.id) != 0;
    if (mine && entry.access > best) best = entry.access;
  }
  return best;
}

}  // namespace

std::uint64_t NaiveExport::size() const {
  std::uint64_t sum = 0;
  for (const NaiveChunk& chunk : chunks) sum += chunk.size;
  return sum;
}

std::set<std::uint64_t> NaiveExport::changed_since(std::uint64_t version) const {
  std::set<std::uint64_t> out;
  // Only the last changes are known one by one.
  const bool unknown = changes.size() > limits::kChangesRemembered &&
                       changes[changes.size() - 1 - limits::kChangesRemembered].first > version;
  if (unknown)
    for (std::uint64_t i = 0; i < chunks.size(); ++i) out.insert(i);
  for (const auto& [when, run] : changes)
    for (std::uint64_t i = run.first; when > version && i < run.first + run.count; ++i) out.insert(i);
  return out;
}

std::pair<std::uint64_t, std::uint64_t> NaiveExport::chunks_of(std::uint64_t offset,
                                                               std::uint64_t length) const {
  std::uint64_t first = chunks.size();
  std::uint64_t end = 0;
  std::uint64_t start = 0;
  for (std::uint64_t i = 0; i < chunks.size(); ++i) {
    if (start < offset + length && start + chunks[i].size > offset) {
      first = std::min(first, i);
      end = i + 1;
    }
    start += chunks[i].size;
  }
  return {first, end};
}

Access NaiveModel::access_of(const NaiveExport& e, const Principal& who) const {
  if (who.admin || who.scope.value != e.scope || e.staging()) return Access::kNone;
  return std::min(e.access, who.uid == e.uid ? Access::kReadWrite : granted_by(e.acl, who));
}

bool NaiveModel::may_see(const NaiveExport& e, const Principal& who) const {
  return !e.staging() && (who.admin || access_of(e, who) != Access::kNone);
}

std::uint64_t NaiveModel::bearer(std::uint64_t scope, std::uint32_t uid, const std::string& name) const {
  for (const auto& [id, e] : exports)
    if (e.current() && !name.empty() && e.scope == scope && e.uid == uid && e.name == name) return id;
  return 0;
}

bool NaiveModel::is_being_sent(std::uint64_t scope, std::uint32_t uid, const std::string& name) const {
  return std::any_of(exports.begin(), exports.end(), [&](const auto& entry) {
    const NaiveExport& e = entry.second;
    return e.staging() && !name.empty() && e.scope == scope && e.uid == uid && e.name == name;
  });
}

std::uint32_t NaiveModel::next_generation(const NaiveExport& e) const {
  if (e.name.empty()) return e.generation + 1;
  const auto name = names_.find(name_key(e));
  return name == names_.end() ? 1 : name->second.generation + 1;
}

hb_status NaiveModel::status_of_end(const NaiveExport& e) const {
  if (!e.name.empty() && names_.at(name_key(e)).generation > e.generation) return HB_STALE;
  return e.state == ExportState::kRevoked ? HB_REVOKED : HB_GONE;
}

NaiveFound NaiveModel::by_key(const Principal& who, const NaiveKey& key) const {
  if (key.ticket != 0) return {HB_INVALID};
  const auto found = exports.find(key.id);
  if (!key.true_key || found == exports.end()) return {HB_NOT_FOUND};
  const NaiveExport& e = found->second;
  if (who.scope.value != e.scope && !who.admin) return {HB_NOT_FOUND};
  if (key.generation != e.generation) return {may_see(e, who) ? HB_STALE : HB_NOT_FOUND};
  if (e.ended()) return {may_see(e, who) ? status_of_end(e) : HB_NOT_FOUND};
  if (!may_see(e, who)) return {HB_DENIED};
  if (key.length == UINT64_MAX) {
    if (key.offset >= e.size() || e.max_size == 0) return {HB_RANGE};
    return {HB_OK, key.id, key.offset, e.size() - key.offset, true};
  }
  if (key.length == 0 || key.offset + key.length > e.size()) return {HB_RANGE};
  return {HB_OK, key.id, key.offset, key.length, false};
}

NaiveFound NaiveModel::by_name(const Principal& who, const NameRef& name) const {
  const std::uint64_t id = bearer(who.scope.value, name.owner_uid.value_or(who.uid), name.name);
  if (id == 0 || !may_see(exports.at(id), who)) return {HB_NOT_FOUND};
  return {HB_OK, id, 0, exports.at(id).size(), true};
}

NaiveFound NaiveModel::by_id(const Principal& who, std::uint64_t id) const {
  const auto found = exports.find(id);
  if (found == exports.end() || !may_see(found->second, who)) return {HB_NOT_FOUND};
  if (found->second.ended()) return {HB_GONE};
  return {HB_OK, id, 0, found->second.size(), true};
}

NaiveFound NaiveModel::find(const Principal& who, const NaiveAim& aim) const {
  if (std::holds_alternative<KeyBytes>(aim.target)) return by_key(who, aim.key);
  if (const auto* name = std::get_if<NameRef>(&aim.target)) return by_name(who, *name);
  return by_id(who, std::get<ExportId>(aim.target).value);
}

NaiveFound NaiveModel::look(const Principal& who, const NaiveAim& aim) const {
  if (const auto* id = std::get_if<ExportId>(&aim.target)) {
    const auto e = exports.find(id->value);
    if (e != exports.end() && e->second.ended() && is_held(id->value) && may_see(e->second, who))
      return {HB_OK, id->value};
  }
  const auto* name = std::get_if<NameRef>(&aim.target);
  if (name == nullptr) return find(who, aim);
  if (!who.admin) return look_in(who.scope.value, who, *name).second;
  // The admin's name is of any scope: the best there is, if one alone has it.
  std::set<std::uint64_t> scopes;
  for (const auto& [id, e] : exports) scopes.insert(e.scope);
  std::vector<std::pair<int, NaiveFound>> found;
  for (const std::uint64_t scope : scopes)
    if (const auto one = look_in(scope, who, *name); one.second.status == HB_OK) found.push_back(one);
  if (found.empty()) return {HB_NOT_FOUND};
  std::stable_sort(found.begin(), found.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  if (found.size() > 1 && found[0].first == found[1].first && found[0].first < 2) return {HB_INVALID};
  return found[0].second;
}

// With how good it is: 0 what bears it, 1 what was taken last of those that are held still, 2 the last one
// that bore it.
std::pair<int, NaiveFound> NaiveModel::look_in(std::uint64_t scope, const Principal& who,
                                               const NameRef& name) const {
  const NameKey key{scope, name.owner_uid.value_or(who.uid), name.name};
  if (const std::uint64_t now = bearer(scope, std::get<1>(key), name.name);
      now != 0 && may_see(exports.at(now), who))
    return {0, {HB_OK, now}};
  std::vector<std::uint64_t> in_order;
  for (const auto& [id, e] : exports)
    if (name_key(e) == key && e.ended() && is_held(id)) in_order.push_back(id);
  std::sort(in_order.begin(), in_order.end(), [&](std::uint64_t a, std::uint64_t b) {
    return exports.at(a).end_order > exports.at(b).end_order;
  });
  for (const std::uint64_t id : in_order)
    if (may_see(exports.at(id), who)) return {1, {HB_OK, id}};
  if (const auto known = names_.find(key); known != names_.end() && exports.contains(known->second.latest) &&
                                           may_see(exports.at(known->second.latest), who))
    return {2, {HB_OK, known->second.latest}};
  return {2, {HB_NOT_FOUND}};
}

hb_status NaiveModel::own(std::uint64_t session, std::uint64_t id) const {
  const NaiveFound found = by_id(sessions.at(session).who, id);
  if (found.status != HB_OK) return found.status;
  return exports.at(id).session == session ? HB_OK : HB_DENIED;
}

hb_status NaiveModel::held(std::uint64_t session, std::uint64_t lease) const {
  const auto found = leases.find(lease);
  if (found == leases.end() || found->second.session != session) return HB_NOT_HELD;
  const NaiveExport& e = exports.at(found->second.id);
  if (e.ended()) return is_pinned(found->second.id) ? HB_OK : status_of_end(e);
  return e.asleep() ? HB_SUSPENDED : HB_OK;
}

hb_status NaiveModel::status_of_ticket(const Principal& who, const NaiveTicket& ticket) const {
  const auto e = exports.find(ticket.id);
  const bool seen = e != exports.end() && may_see(e->second, who);
  if (ticket.stands) return seen ? HB_OK : HB_DENIED;
  return !seen ? HB_NOT_FOUND : ticket.revoked ? HB_REVOKED : HB_GONE;
}

NaiveFound NaiveModel::by_ticket(const Principal& who, const NaiveKey& key) const {
  const auto found = tickets.find(key.ticket);
  if (!key.true_key || found == tickets.end() || found->second.scope != who.scope.value)
    return {HB_NOT_FOUND};
  const NaiveTicket& ticket = found->second;
  return {status_of_ticket(who, ticket), ticket.id, ticket.offset, ticket.length, false};
}

std::vector<std::uint64_t> NaiveModel::tickets_of(std::uint64_t id) const {
  std::vector<std::uint64_t> out;
  for (const auto& [ticket, t] : tickets)
    if (t.stands && t.id == id) out.push_back(ticket);
  std::sort(out.begin(), out.end(),
            [&](std::uint64_t a, std::uint64_t b) { return tickets.at(a).order > tickets.at(b).order; });
  return out;
}

bool NaiveModel::is_held(std::uint64_t id) const { return !leases_of(id).empty() || !tickets_of(id).empty(); }

bool NaiveModel::is_pinned(std::uint64_t id) const {
  const auto pins = [&](const auto& lease) { return lease.second.id == id && lease.second.pins; };
  return !tickets_of(id).empty() || std::any_of(leases.begin(), leases.end(), pins);
}

Level NaiveModel::level_of(const NaiveExport& e, const Principal& who, std::uint64_t offset,
                           std::uint64_t length) const {
  Level out = Level::kSealed;
  const auto [first, end] = e.chunks_of(offset, length);
  for (std::uint64_t i = first; i < end; ++i) {
    const Object& object = e.chunks[i].object;
    Level level = object.sealed() ? Level::kSealed : Level::kIntent;
    if (!object.sealed() && who.uid != e.uid && who.uid != 0) level = object.fact();
    out = std::min(out, level);
  }
  return out;
}

Expected NaiveModel::acquire(const Principal& who, const NaiveAim& aim, const AcquireRequest& r) const {
  if (who.admin || !who.rights.allows(Verb::kAcquire)) return {HB_DENIED};
  const bool by_key = std::holds_alternative<KeyBytes>(aim.target);
  const std::uint64_t ticket = by_key ? aim.key.ticket : 0;
  const NaiveFound found = ticket != 0 ? by_ticket(who, aim.key) : find(who, aim);
  if (found.status != HB_OK) return {found.status};
  const NaiveExport& e = exports.at(found.id);
  if (r.access > access_of(e, who)) return {e.access == Access::kRead ? HB_READ_ONLY : HB_DENIED};
  if (e.asleep()) return {HB_SUSPENDED};
  if (r.offset >= found.length || r.offset + r.length > found.length) return {HB_RANGE};
  Expected out{HB_OK, found.id, found.offset + r.offset, r.length == 0 ? found.length - r.offset : r.length};
  out.follows = found.follows && r.length == 0;
  out.ticket = ticket;
  if (ticket != 0 && r.access > tickets.at(ticket).access) return {HB_READ_ONLY};
  if (r.access == Access::kRead) out.level = level_of(e, who, out.offset, out.length);
  if (r.demand > out.level) out.status = HB_LEVEL;
  return out;
}

Expected NaiveModel::refreshed(std::uint64_t id) const {
  const NaiveLease& lease = leases.at(id);
  const NaiveExport& e = exports.at(lease.id);
  Expected out{HB_OK, lease.id, lease.offset, lease.length, lease.level, lease.follows};
  if (lease.follows) out.length = e.size() - lease.offset;
  if (lease.access == Access::kRead &&
      level_of(e, sessions.at(lease.session).who, out.offset, out.length) < lease.level)
    out.status = HB_LEVEL;
  return out;
}

hb_status NaiveModel::lifetime_status(Lifetime lifetime, std::uint64_t linger_ns,
                                      const Principal& who) const {
  switch (lifetime) {
    case Lifetime::kOwner:
      return linger_ns == 0 ? HB_OK : HB_INVALID;
    case Lifetime::kLinger:
      return linger_ns == 0 ? HB_INVALID : linger_ns > limits::kLingerNs ? HB_QUOTA : HB_OK;
    case Lifetime::kPersist:
      return linger_ns != 0 ? HB_INVALID : who.rights.allows(core::Verb::kPersist) ? HB_OK : HB_DENIED;
  }
  return HB_UNSUPPORTED;
}

std::vector<std::uint64_t> NaiveModel::leases_of(std::uint64_t id) const {
  std::vector<std::uint64_t> out;
  for (const auto& [lease, held] : leases)
    if (held.id == id) out.push_back(lease);
  std::sort(out.begin(), out.end(),
            [&](std::uint64_t a, std::uint64_t b) { return leases.at(a).order > leases.at(b).order; });
  return out;
}

std::vector<std::uint64_t> NaiveModel::owned_by(std::uint64_t session) const {
  std::vector<std::uint64_t> out;
  for (const auto& [id, e] : exports)
    if (e.session == session && e.current()) out.push_back(id);
  std::sort(out.begin(), out.end(),
            [&](std::uint64_t a, std::uint64_t b) { return exports.at(a).order > exports.at(b).order; });
  return out;
}

const NaiveChange* NaiveModel::change_of(std::uint64_t id) const {
  const auto found = std::find_if(changes.begin(), changes.end(), [id](const auto& c) { return c.id == id; });
  return found == changes.end() ? nullptr : &*found;
}

std::uint64_t NaiveModel::exports_of(std::uint64_t scope, std::uint32_t uid) const {
  return static_cast<std::uint64_t>(std::count_if(exports.begin(), exports.end(), [&](const auto& entry) {
    const NaiveExport& e = entry.second;
    return e.scope == scope && e.uid == uid && (e.current() || e.staging());
  }));
}

std::size_t NaiveModel::stagings_of(std::uint64_t session) const {
  const auto mine = [session](const NaiveChange& c) { return c.session == session; };
  std::size_t out = static_cast<std::size_t>(std::count_if(changes.begin(), changes.end(), mine));
  for (const auto& [id, e] : exports) out += e.staging() && e.session == session ? 1 : 0;
  return out;
}

std::map<Object, std::uint64_t> NaiveModel::referenced() const {
  std::map<Object, std::uint64_t> out;
  for (const auto& [id, e] : exports)
    for (const NaiveChunk& chunk : e.chunks)
      if (e.holds_memory() || (e.ended() && is_pinned(id))) ++out[chunk.object];
  for (const NaiveChange& change : changes)
    for (const NaiveChunk& chunk : change.chunks) ++out[chunk.object];
  return out;
}

}  // namespace hb::test
