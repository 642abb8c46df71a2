// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "model/naive_model.h"

#include <algorithm>

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

Access NaiveExport::access() const {
  for (const NaiveChunk& chunk : chunks)
    if (!chunk.object.writable) return Access::kRead;
  return max_access == Access::kRead ? Access::kRead : Access::kReadWrite;
}

void NaiveModel::pass_time(Time now) {
  while (!ends.empty() && ends.front().at + remembered_ns_ <= now) forget_oldest();
}

void NaiveModel::forget_oldest() {
  const std::uint64_t id = ends.front().id;
  ends.erase(ends.begin());
  const bool others =
      std::any_of(ends.begin(), ends.end(), [&](const NaiveEnd& end) { return end.id == id; });
  if (!others && exports.at(id).state == NaiveState::kEnded) exports.erase(id);
}

void NaiveModel::end_export(std::uint64_t id, Time now) {
  NaiveExport& e = exports.at(id);
  std::erase_if(leases, [&](const auto& lease) { return lease.second.id == id; });
  ends.push_back({id, e.generation, e.acl, now});
  e.state = NaiveState::kEnded;
  e.chunks.clear();
  e.acl.clear();
  e.session = 0;
  while (ends.size() > remembered_) forget_oldest();
}

void NaiveModel::drop_staging(std::uint64_t id) {
  NaiveExport& e = exports.at(id);
  e.state = NaiveState::kEnded;
  e.chunks.clear();
  e.acl.clear();
  e.session = 0;
  if (std::none_of(ends.begin(), ends.end(), [&](const NaiveEnd& end) { return end.id == id; }))
    exports.erase(id);
}

void NaiveModel::drop_session(std::uint64_t session, Time now) {
  std::erase_if(waits, [&](const NaiveWait& wait) { return wait.session == session; });
  std::erase_if(leases, [&](const auto& lease) { return lease.second.session == session; });
  std::vector<std::uint64_t> staged;
  for (const auto& [id, e] : exports)
    if (e.session == session && e.state == NaiveState::kStaging) staged.push_back(id);
  for (const std::uint64_t id : staged) drop_staging(id);
  for (const std::uint64_t id : live_of(session)) end_export(id, now);
  sessions.erase(session);
}

std::vector<std::uint64_t> NaiveModel::live_of(std::uint64_t session) const {
  std::vector<std::uint64_t> out;
  for (const auto& [id, e] : exports)
    if (e.session == session && e.state == NaiveState::kLive) out.push_back(id);
  std::sort(out.begin(), out.end(), [&](std::uint64_t a, std::uint64_t b) {
    return exports.at(a).completed > exports.at(b).completed;
  });
  return out;
}

std::uint64_t NaiveModel::find_name(std::uint64_t scope, std::uint32_t uid, const std::string& name) const {
  for (const auto& [id, e] : exports)
    if (e.scope == scope && e.uid == uid && e.name == name && !name.empty()) return id;
  return 0;
}

Access NaiveModel::access_of(const NaiveExport& e, const Principal& who) const {
  if (who.admin || who.scope.value != e.scope) return Access::kNone;
  return std::min(e.access(), who.uid == e.uid ? Access::kReadWrite : granted_by(e.acl, who));
}

bool NaiveModel::may_see(const NaiveExport& e, const Principal& who) const {
  return e.state == NaiveState::kLive && (who.admin || access_of(e, who) != Access::kNone);
}

bool NaiveModel::could_read(std::uint64_t id, std::uint32_t generation, const Principal& who) const {
  const NaiveExport& e = exports.at(id);
  if (who.scope.value != e.scope && !who.admin) return false;
  if (may_see(e, who)) return true;
  for (const NaiveEnd& end : ends)
    if (end.id == id && end.generation == generation)
      return who.admin || who.uid == e.uid || granted_by(end.acl, who) != Access::kNone;
  return false;
}

Expected NaiveModel::by_key(const Principal& who, const NaiveKey& key, const AcquireRequest& r) const {
  if (who.admin) return {HB_DENIED};
  const auto found = exports.find(key.id);
  if (!key.true_key || found == exports.end() || found->second.scope != who.scope.value)
    return {HB_NOT_FOUND};
  const NaiveExport& e = found->second;
  if (key.generation != e.generation)
    return {could_read(key.id, key.generation, who) ? HB_STALE : HB_NOT_FOUND};
  if (e.state != NaiveState::kLive) return {could_read(key.id, key.generation, who) ? HB_GONE : HB_NOT_FOUND};
  if (!may_see(e, who)) return {HB_DENIED};
  if (key.length == 0 || key.offset + key.length > e.size()) return {HB_RANGE};
  return grant(key.id, who, key.offset, key.length, r);
}

Expected NaiveModel::by_name(const Principal& who, const AcquireRequest& r) const {
  if (who.admin) return {HB_DENIED};
  const NameRef& name = std::get<NameRef>(r.target);
  const std::uint64_t id = find_name(who.scope.value, name.owner_uid.value_or(who.uid), name.name);
  if (id == 0 || !may_see(exports.at(id), who)) return {HB_NOT_FOUND};
  return grant(id, who, 0, exports.at(id).size(), r);
}

hb_status NaiveModel::by_id(const Principal& who, std::uint64_t id) const {
  const auto found = exports.find(id);
  if (found == exports.end()) return HB_NOT_FOUND;
  if (may_see(found->second, who)) return HB_OK;
  if (found->second.state == NaiveState::kLive || found->second.generation == 0) return HB_NOT_FOUND;
  return could_read(id, found->second.generation, who) ? HB_GONE : HB_NOT_FOUND;
}

Expected NaiveModel::grant(std::uint64_t id, const Principal& who, std::uint64_t base, std::uint64_t size,
                           const AcquireRequest& r) const {
  const NaiveExport& e = exports.at(id);
  if (r.access > access_of(e, who)) return {e.access() == Access::kRead ? HB_READ_ONLY : HB_DENIED};
  if (r.offset >= size || r.offset + r.length > size) return {HB_RANGE};
  Expected out{HB_OK, id, base + r.offset, r.length == 0 ? size - r.offset : r.length, Level::kNone};
  if (r.access == Access::kRead) {
    out.level = Level::kSealed;
    std::uint64_t start = 0;
    for (const NaiveChunk& chunk : e.chunks) {
      if (start < out.offset + out.length && start + chunk.size > out.offset) {
        Level level = chunk.object.sealed() ? Level::kSealed : Level::kIntent;
        if (!chunk.object.sealed() && who.uid != e.uid && who.uid != 0) level = chunk.object.fact();
        out.level = std::min(out.level, level);
      }
      start += chunk.size;
    }
  }
  if (r.demand > out.level) out.status = HB_LEVEL;
  return out;
}

std::map<Object, std::uint64_t> NaiveModel::referenced() const {
  std::map<Object, std::uint64_t> out;
  for (const auto& [id, e] : exports)
    for (const NaiveChunk& chunk : e.chunks) ++out[chunk.object];
  return out;
}

}  // namespace hb::test
