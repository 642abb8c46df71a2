// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Longer than 500 lines, by reason: every command with its prediction, one function each, over one set of
// names, uids and ACLs.
#include <algorithm>

#include "model/world.h"
#include "wire/limits.h"

namespace hb::test {

using namespace core;

namespace {

constexpr std::size_t kActors = 6;
const char* const kNames[] = {"", "alpha", "beta", "gamma"};
constexpr std::uint32_t kUids[] = {1000, 1001, 1002, 0};

Principal make_principal(std::uint32_t which) {
  Principal p;
  p.uid = kUids[which % 4];
  p.gid = p.uid;
  p.groups = {p.uid};
  if (which % 3 == 0) p.groups.push_back(500);
  std::sort(p.groups.begin(), p.groups.end());
  p.scope = ScopeId{which == 7 ? 1u : 0u};
  p.admin = which == 8;
  return p;
}

std::vector<AclEntry> make_acl(std::uint32_t which) {
  using Kind = AclEntry::Kind;
  switch (which) {
    case 0:
      return {};
    case 1:
      return {{Kind::kUid, 1001, Access::kRead}};
    case 2:
      return {{Kind::kUid, 1001, Access::kReadWrite}};
    case 3:
      return {{Kind::kGid, 500, Access::kRead}, {Kind::kUid, 1002, Access::kRead}};
    case 4:
      return {{Kind::kUid, 1000, Access::kRead}, {Kind::kGid, 500, Access::kReadWrite}};
    default:
      return {{Kind::kUid, 0, Access::kRead}, {Kind::kUid, 1001, Access::kRead}};
  }
}

// On no device, or on one with so many peers.
Placement make_placement(std::uint32_t which) {
  Placement out;
  if (which == 0) return out;
  out.device = {"GPU-0", "0000:03:00.0", 0};
  for (std::uint32_t i = 1; i < which; ++i) out.peers.push_back({"", "0000:83:00.0", i});
  return out;
}

bool writes(const std::vector<AclEntry>& acl) {
  return std::any_of(acl.begin(), acl.end(),
                     [](const AclEntry& e) { return e.access == Access::kReadWrite; });
}

NewChunk chunk_of(std::uint32_t handle, std::uint64_t offset, std::uint64_t size) {
  NewChunk chunk;
  chunk.handle = handle;
  chunk.offset = offset;
  chunk.size = size;
  return chunk;
}

hb_status status_in(const ReplyBody& body) {
  const auto* error = std::get_if<Error>(&body);
  return error == nullptr ? HB_OK : error->status;
}

Object pick_object(std::uint32_t seed) { return {seed % 8, seed / 8 % 4 != 0}; }

}  // namespace

World::Judge World::judge_status(hb_status wanted) {
  return [this, wanted](const ReplyBody& body) { expect("status", status_in(body), wanted); };
}

void World::connect(const Command& c) {
  if (actors_.size() == kActors) return;
  const Principal principal = make_principal(c.at(2, 9));
  const bool fits = principal.admin || fds_used() + fds_promised() + 2 <= 45;
  const auto session = broker_.connect(principal, {}, now_);
  if (session.has_value() != fits) fail("connect should " + std::string(fits ? "work" : "be refused"));
  if (!session) return;
  if (model_.sessions.contains(session->value)) fail("a session id used twice");
  model_.sessions[session->value] = principal;
  actors_.push_back({*session, 0, {}});
}

void World::disconnect(std::size_t index) {
  const SessionId session = actors_[index].session;
  actors_.erase(actors_.begin() + static_cast<std::ptrdiff_t>(index));
  std::erase_if(model_.waits, [&](const NaiveWait& wait) { return wait.session == session.value; });
  pass_time();
  model_.drop_session(session.value, now_);
  Effects effects;
  broker_.disconnect(session, now_, effects);
  carry_out(effects);
}

void World::export_memory(Actor& actor, const Command& c, bool paged) {
  const Principal& who = who_is(actor);
  NaiveExport e;
  e.scope = who.scope.value;
  e.uid = who.uid;
  e.name = kNames[c.at(2, 4)];
  e.session = actor.session.value;
  e.acl = make_acl(c.at(7, 6));
  e.max_access = c.at(6, 16) < 12 ? Access::kNone : c.at(6, 2) == 0 ? Access::kRead : Access::kReadWrite;
  ExportRequest request;
  request.name = e.name;
  request.acl = e.acl;
  e.placement = make_placement(c.at(1, 4));
  request.placement = e.placement;
  request.max_access = e.max_access;
  request.metadata = c.at(5, 2) == 0 ? "" : "meta";
  std::vector<Object> objects;
  const std::uint32_t count = 1 + c.at(3, 3);
  for (std::uint32_t i = 0; i < count; ++i) {
    const Object object = pick_object(c.bytes[4] + i * 3u);
    const std::uint64_t size = paged ? 4096 : 4096 * (1 + (c.bytes[5] / 2 + i) % 2);
    const std::uint64_t offset = 4096 * ((c.bytes[5] / 4 + i) % 3);
    e.chunks.push_back({object, offset, size});
    objects.push_back(object);
    request.chunks.push_back(chunk_of(i, offset, size));
    request.total_size += size;
  }
  request.total_chunks = count;
  if (paged) {
    request.total_chunks += 1 + c.at(3, 7);
    request.total_size = request.total_chunks * 4096;
  }
  request.distinct_handles = request.total_chunks;
  e.total_chunks = request.total_chunks;

  std::set<hb_status> reasons;
  const bool promised = writes(e.acl) || e.max_access == Access::kReadWrite;
  if (who.admin) reasons.insert(HB_DENIED);
  if (promised && e.max_access == Access::kRead) reasons.insert(HB_READ_ONLY);
  if (promised && std::any_of(objects.begin(), objects.end(), [](const Object& o) { return !o.writable; }))
    reasons.insert(HB_READ_ONLY);
  const std::uint64_t before = model_.find_name(e.scope, e.uid, e.name);
  if (before != 0 && model_.exports.at(before).state != NaiveState::kEnded) reasons.insert(HB_EXISTS);
  if (fds_used() + fds_promised() + request.distinct_handles > 45) reasons.insert(HB_NO_FDS);
  const auto stagings = std::count_if(model_.exports.begin(), model_.exports.end(), [&](const auto& entry) {
    return entry.second.state == NaiveState::kStaging && entry.second.session == e.session;
  });
  if (paged && static_cast<std::size_t>(stagings) >= limits::kSessionStagings) reasons.insert(HB_QUOTA);

  const auto check = [this, e, paged, reasons, before](const ReplyBody& body) {
    const hb_status status = status_in(body);
    if (!reasons.empty()) {
      if (!reasons.contains(status)) fail("export refused for another reason: " + std::to_string(status));
      return;
    }
    const auto* out = std::get_if<Exported>(&body);
    if (out == nullptr) return fail("export refused: " + std::get<Error>(body).message);
    const std::uint64_t id = out->id.value;
    if (before != 0 && id != before) fail("a name got another id");
    if (before == 0 && model_.exports.contains(id)) fail("an export id used twice");
    NaiveExport& record = model_.exports[id];
    const std::uint32_t generation = record.generation;
    record = e;
    record.generation = generation;
    record.state = NaiveState::kStaging;
    if (out->complete == paged) fail("complete at the wrong time");
    expect("received", out->received_chunks, e.chunks.size());
    if (paged) return;
    record.state = NaiveState::kLive;
    expect("generation", out->generation, ++record.generation);
    expect("access", static_cast<int>(out->access), static_cast<int>(record.access()));
    keys_.push_back({{id, out->generation, 0, record.size(), true}, out->key});
    secrets_.push_back(out->secret);
    completed(id);
  };
  send(actor, std::move(request), std::move(objects), check);
}

void World::export_wrong(Actor& actor, const Command& c) {
  ExportRequest r;
  r.name = kNames[1 + c.at(2, 3)];
  r.total_chunks = 2;
  r.total_size = 8192;
  r.distinct_handles = 2;
  r.chunks = {chunk_of(0, 0, 4096), chunk_of(1, 4096, 4096)};
  std::vector<Object> objects = {pick_object(c.bytes[4]), pick_object(c.bytes[5])};
  switch (c.at(3, 16)) {
    case 0:
      r.name = "a//b";
      break;
    case 1:
      r.chunks[1].offset = UINT64_MAX;
      break;
    case 2:
      r.chunks[0].size = 20'000;
      break;
    case 3:
      r.chunks[1].size = 0;
      break;
    case 4:
      r.chunks[1].handle = 7;
      break;
    case 5:
      objects.push_back(pick_object(c.bytes[6]));
      break;
    case 6:
      r.total_size = 8193;
      break;
    case 7:
      r.kind = HandleKind::kDmaBuf;
      break;
    case 8:
      r.lifetime = Lifetime::kLinger;
      break;
    case 9:
      r.metadata.assign(5000, 'x');
      break;
    case 10:
      r.acl.assign(65, {});
      break;
    case 11:
      r.total_chunks = 1;
      break;
    case 12:
      r.chunks.clear();
      break;
    case 13:
      r.chunks[0].handle = NewChunk::kNoHandle;
      break;
    case 14:
      r.total_chunks = UINT64_MAX;
      r.total_size = UINT64_MAX;
      break;
    default:
      r.max_access = static_cast<Access>(2);
  }
  send(actor, std::move(r), std::move(objects), [this](const ReplyBody& body) {
    if (status_in(body) == HB_OK) fail("a wrong export was taken");
  });
}

void World::page(Actor& actor, const Command& c, bool wrong) {
  std::vector<std::uint64_t> stagings;
  for (const auto& [id, e] : model_.exports)
    if (e.state == NaiveState::kStaging) stagings.push_back(id);
  ExportChunksRequest r;
  r.id = stagings.empty() ? ExportId{77}
                          : ExportId{stagings[c.at(2, static_cast<std::uint32_t>(stagings.size()))]};
  std::vector<Object> objects = {pick_object(c.bytes[4])};
  const auto found = model_.exports.find(r.id.value);
  const bool own = found != model_.exports.end() && found->second.session == actor.session.value;
  NaiveExport after = own ? found->second : NaiveExport{};
  r.first = after.chunks.size();
  r.chunks = {chunk_of(0, 4096, 4096)};
  if (own && r.first + 2 <= after.total_chunks && c.at(3, 2) == 0) {
    r.chunks.push_back(chunk_of(1, 0, 4096));
    objects.push_back(pick_object(c.bytes[5]));
  }
  for (std::size_t i = 0; i < objects.size(); ++i)
    after.chunks.push_back({objects[i], r.chunks[i].offset, 4096});
  hb_status status = own ? HB_OK : HB_NOT_FOUND;
  const bool promised = writes(after.acl) || after.max_access == Access::kReadWrite;
  bool refused =
      promised && std::any_of(objects.begin(), objects.end(), [](const Object& o) { return !o.writable; });
  if (wrong) {
    refused = true;
    switch (c.at(6, 6)) {
      case 0:
        ++r.first;
        break;
      case 1:
        r.chunks[0].size = 0;
        break;
      case 2:
        r.chunks[0].offset = UINT64_MAX;
        break;
      case 3:
        r.chunks[0].handle = 9;
        break;
      case 4:
        objects.push_back(pick_object(c.bytes[7]));
        break;
      default:
        r.chunks.clear();
    }
  }
  const std::uint64_t id = r.id.value;
  const auto check = [this, own, refused, status, id, after](const ReplyBody& body) {
    if (!own) return expect("page", status_in(body), status);
    if (refused) {
      if (status_in(body) == HB_OK) fail("a wrong page was taken");
      return model_.drop_staging(id);
    }
    const auto* out = std::get_if<Exported>(&body);
    if (out == nullptr) return fail("page refused: " + std::get<Error>(body).message);
    NaiveExport& record = model_.exports.at(id);
    record.chunks = after.chunks;
    expect("received", out->received_chunks, record.chunks.size());
    const bool complete = record.chunks.size() == record.total_chunks;
    if (out->complete != complete) fail("complete at the wrong time");
    if (!complete) return;
    record.state = NaiveState::kLive;
    expect("generation", out->generation, ++record.generation);
    keys_.push_back({{id, out->generation, 0, record.size(), true}, out->key});
    secrets_.push_back(out->secret);
    completed(id);
  };
  send(actor, std::move(r), std::move(objects), check);
}

void World::abort_staging(Actor& actor, const Command& c) {
  std::vector<std::uint64_t> all;
  for (const auto& [id, e] : model_.exports) all.push_back(id);
  const std::uint64_t id = all.empty() ? 5 : all[c.at(2, static_cast<std::uint32_t>(all.size()))];
  const auto found = model_.exports.find(id);
  const bool own = found != model_.exports.end() && found->second.state == NaiveState::kStaging &&
                   found->second.session == actor.session.value;
  if (own) model_.drop_staging(id);
  send(actor, ExportAbortRequest{ExportId{id}}, {}, judge_status(own ? HB_OK : HB_NOT_FOUND));
}

// Whoever waits for the name of this export and may read it gets an answer, in the order they came.
void World::completed(std::uint64_t id) {
  NaiveExport& e = model_.exports.at(id);
  e.completed = ++completions_;
  if (e.name.empty()) return;
  for (std::size_t i = 0; i < model_.waits.size();) {
    const NaiveWait wait = model_.waits[i];
    const Principal& who = model_.sessions.at(wait.session);
    if (who.scope.value != e.scope || wait.owner != e.uid ||
        std::get<NameRef>(wait.request.target).name != e.name || !model_.may_see(e, who)) {
      ++i;
      continue;
    }
    model_.waits.erase(model_.waits.begin() + static_cast<std::ptrdiff_t>(i));
    expect_answer(SessionId{wait.session}, wait.request_id,
                  judge_acquired(SessionId{wait.session}, wait.request_id, model_.by_name(who, wait.request),
                                 wait.request));
  }
}

void World::acquire(Actor& actor, const Command& c, bool by_key, bool wait) {
  const Principal& who = who_is(actor);
  AcquireRequest r;
  r.access = c.at(3, 3) == 0 ? Access::kReadWrite : Access::kRead;
  r.offset = 1000ull * (c.at(4, 8) < 5 ? 0 : c.at(4, 8) * 2);
  r.length = 1000ull * (c.at(5, 8) < 5 ? 0 : c.at(5, 8));
  r.max_handles = c.at(6, 4);
  r.demand = c.at(6, 16) < 12 ? Level::kNone : static_cast<Level>(c.at(6, 4));
  Expected wanted;
  if (by_key) {
    NaiveKey naive;
    KeyBytes key{};
    if (keys_.empty()) {
      naive.true_key = false;
      key[0] = 1;
    } else {
      // The youngest keys are asked for most.
      const std::size_t back = c.at(2, 2) == 0 ? c.at(2, 8) : c.bytes[2];
      const std::size_t index = keys_.size() - 1 - std::min(back, keys_.size() - 1);
      std::tie(naive, key) = keys_[index];
      if (c.at(7, 16) == 1) {
        key[48 + c.at(6, 16)] ^= 0x10;
        naive.true_key = false;
      } else if (c.at(7, 16) == 2) {
        KeyFields fields = decode_key(key);
        naive.offset = fields.offset = 4096ull * c.at(5, 3);
        naive.length = fields.length = 4096ull * c.at(4, 4);
        key = encode_key(fields, secrets_[index]);
      }
    }
    r.target = key;
    wanted = model_.by_key(who, naive, r);
  } else {
    NameRef name{kNames[1 + c.at(2, 3)], {}};
    if (c.at(7, 3) != 0) name.owner_uid = kUids[c.at(7, 4)];
    r.target = name;
    wanted = model_.by_name(who, r);
    if (wait) r.wait_ns = c.at(6, 5) == 0 ? kNever : 1 + c.bytes[6];
    if (wait && wanted.status == HB_NOT_FOUND) {
      model_.waits.push_back({actor.session.value, actor.last_request + 1, name.owner_uid.value_or(who.uid),
                              r.wait_ns == kNever ? kNever : now_ + r.wait_ns, r});
      return send(actor, r, {}, {});
    }
  }
  send(actor, r, {}, judge_acquired(actor.session, actor.last_request + 1, wanted, r));
}

World::Judge World::judge_acquired(SessionId session, std::uint64_t, Expected wanted, AcquireRequest r) {
  return [this, session, wanted, r](const ReplyBody& body) {
    if (status_in(body) != wanted.status)
      return fail("acquire: got " + std::to_string(status_in(body)) + ", expected " +
                  std::to_string(wanted.status));
    if (wanted.status != HB_OK) return;
    const auto& got = std::get<Acquired>(body);
    const NaiveExport& e = model_.exports.at(wanted.id);
    expect("export", got.exported.id.value, wanted.id);
    expect("generation", got.exported.generation, e.generation);
    expect("size", got.exported.size, e.size());
    expect("offset", got.offset, wanted.offset);
    expect("length", got.length, wanted.length);
    expect("level", static_cast<int>(got.level), static_cast<int>(wanted.level));
    if (*got.exported.name != e.name) fail("another name");
    const auto [first, end] = chunks_of(e, wanted.offset, wanted.length);
    expect("first chunk", got.first_chunk, first);
    expect("chunk count", got.chunk_count, end - first);
    std::uint64_t bytes = 0;
    for (std::uint64_t i = first; i < end; ++i) bytes += e.chunks[i].object.bytes();
    expect("object bytes", got.object_bytes, bytes);
    check_placement(got.exported, e);
    check_page(got.page, e, first, end, r.max_handles, got.level);
    if (model_.leases.contains(got.lease.value)) fail("a lease id used twice");
    std::uint32_t lowest = 0;
    while (std::any_of(model_.leases.begin(), model_.leases.end(), [&](const auto& l) {
      return l.second.session == session.value && l.second.slot == lowest;
    }))
      ++lowest;
    expect("validity slot", got.validity_slot, lowest);
    model_.leases[got.lease.value] = {session.value,     wanted.id,          wanted.offset, wanted.length,
                                      got.validity_slot, got.validity_value, r.access,      got.level};
  };
}

std::pair<std::uint64_t, std::uint64_t> World::chunks_of(const NaiveExport& e, std::uint64_t offset,
                                                         std::uint64_t length) const {
  std::uint64_t first = e.chunks.size();
  std::uint64_t end = 0;
  std::uint64_t start = 0;
  for (std::uint64_t i = 0; i < e.chunks.size(); ++i) {
    if (start < offset + length && start + e.chunks[i].size > offset) {
      first = std::min(first, i);
      end = i + 1;
    }
    start += e.chunks[i].size;
  }
  return {first, end};
}

void World::check_placement(const ExportView& view, const NaiveExport& e) {
  if (Placement{*view.device, *view.peers} != e.placement) fail("another device, or other peers");
}

void World::check_page(const Page& page, const NaiveExport& e, std::uint64_t first, std::uint64_t end,
                       std::uint32_t max_handles, Level level) {
  expect("page start", page.first, first);
  if (page.chunks.empty() || page.chunks.size() > end - first) return fail("a page of the wrong length");
  if (page.handle_of.size() != page.chunks.size()) return fail("a page without handles for all chunks");
  const std::size_t most = std::max<std::size_t>(max_handles, 1);
  if (page.handles.size() > most) fail("more handles than asked for");
  if (page.chunks.size() < end - first && page.handles.size() < most)
    fail("a page that is shorter than it may be");
  if (page.read_only != (level == Level::kPerReader)) fail("read_only does not follow the level");
  for (std::size_t i = 0; i < page.chunks.size(); ++i) {
    const NaiveChunk& wanted = e.chunks[first + i];
    if (page.handle_of[i] >= page.handles.size()) return fail("a handle number out of range");
    const auto& [object, closed] = handles_.at(page.handles[page.handle_of[i]].value);
    if (closed != 0 || object != wanted.object) fail("a page with the wrong memory");
    expect("object size", page.sizes.at(page.handle_of[i]), object.bytes());
    expect("chunk offset", page.chunks[i].offset, wanted.offset);
    expect("chunk size", page.chunks[i].size, wanted.size);
  }
}

void World::fetch(Actor& actor, const Command& c) {
  if (model_.leases.empty()) return;
  const auto lease =
      std::next(model_.leases.begin(), c.at(2, static_cast<std::uint32_t>(model_.leases.size())));
  const NaiveExport& e = model_.exports.at(lease->second.id);
  const auto [first, end] = chunks_of(e, lease->second.offset, lease->second.length);
  FetchRequest r{LeaseId{lease->first}, c.at(3, 6), c.at(4, 4)};
  hb_status wanted = r.first < first || r.first >= end ? HB_RANGE : HB_OK;
  if (lease->second.session != actor.session.value) wanted = HB_NOT_HELD;
  const Level level = lease->second.level;
  send(actor, r, {}, [this, wanted, r, e, last = end, level](const ReplyBody& body) {
    expect("fetch", status_in(body), wanted);
    if (wanted == HB_OK && status_in(body) == HB_OK)
      check_page(std::get<Fetched>(body).page, e, r.first, last, r.max_handles, level);
  });
}

void World::release(Actor& actor, const Command& c) {
  std::uint64_t id = 99;
  if (!model_.leases.empty() && c.at(3, 8) != 0)
    id = std::next(model_.leases.begin(), c.at(2, static_cast<std::uint32_t>(model_.leases.size())))->first;
  const auto found = model_.leases.find(id);
  const bool own = found != model_.leases.end() && found->second.session == actor.session.value;
  if (own) model_.leases.erase(found);
  send(actor, ReleaseRequest{LeaseId{id}}, {}, judge_status(own ? HB_OK : HB_NOT_HELD));
}

void World::withdraw(Actor& actor, const Command& c) {
  const Principal& who = who_is(actor);
  const std::uint64_t me = actor.session.value;
  WithdrawRequest r;
  std::vector<std::uint64_t> victims;
  hb_status wanted = HB_OK;
  if (c.at(2, 10) == 0) {
    r.all = true;
    victims = model_.live_of(me);
  } else {
    std::uint64_t id = 0;
    if (c.at(2, 2) == 0 && !model_.exports.empty()) {
      id = std::next(model_.exports.begin(), c.at(3, static_cast<std::uint32_t>(model_.exports.size())))
               ->first;
      r.target = ExportId{id};
      wanted = model_.by_id(who, id);
      const NaiveExport& e = model_.exports.at(id);
      if (e.state == NaiveState::kStaging && e.session == me) wanted = HB_BUSY;
    } else {
      NameRef name{kNames[1 + c.at(3, 3)], {}};
      if (c.at(4, 3) == 0) name.owner_uid = kUids[c.at(4, 4)];
      r.target = name;
      id = model_.find_name(who.scope.value, name.owner_uid.value_or(who.uid), name.name);
      wanted = id != 0 && model_.may_see(model_.exports.at(id), who) ? HB_OK : HB_NOT_FOUND;
    }
    if (wanted == HB_OK && model_.exports.at(id).session != me) wanted = HB_DENIED;
    if (wanted == HB_OK) victims.push_back(id);
  }
  if (who.admin) {
    wanted = HB_UNSUPPORTED;
    victims.clear();
  }
  std::uint64_t holders = 0;
  for (const std::uint64_t id : victims) {
    for (const auto& [lease, held] : model_.leases) holders += held.id == id ? 1 : 0;
    model_.end_export(id, now_);
  }
  send(actor, r, {}, [this, wanted, holders, count = victims.size()](const ReplyBody& body) {
    expect("withdraw", status_in(body), wanted);
    const auto* out = std::get_if<Withdrawn>(&body);
    if (out == nullptr) return;
    expect("withdrawn", out->exports, count);
    expect("holders", out->holders.size(), holders);
  });
}

void World::cancel(Actor& actor, const Command& c) {
  std::uint64_t id = c.bytes[3];
  if (!model_.waits.empty())
    id = model_.waits[c.at(2, static_cast<std::uint32_t>(model_.waits.size()))].request_id;
  const auto found = std::find_if(model_.waits.begin(), model_.waits.end(), [&](const NaiveWait& wait) {
    return wait.session == actor.session.value && wait.request_id == id;
  });
  if (found != model_.waits.end()) {
    expect_answer(actor.session, id, judge_status(HB_CANCELED));
    model_.waits.erase(found);
  }
  apply(actor.session, 0, CancelRequest{id});
}

void World::resend(Actor& actor, const Command& c) {
  if (actor.mutating.empty()) return;
  tick();  // a wait that is over by now is answered, then answered again
  const std::size_t back = std::min<std::size_t>(c.at(2, 20), actor.mutating.size() - 1);
  const auto sent = std::prev(actor.mutating.end(), static_cast<std::ptrdiff_t>(back + 1));
  const std::uint64_t id = sent->first;
  const Sent& first = sent->second;
  Request request = first.request;
  attach(request, first.objects);
  if (!first.answered) return apply(actor.session, id, std::move(request));  // it waits: one answer, later
  const auto younger = std::count_if(actor.mutating.begin(), actor.mutating.end(), [&](const auto& other) {
    return other.first > id && other.second.answered;
  });
  hb_status wanted = first.status;
  if (first.lease != 0 && !model_.leases.contains(first.lease)) {
    const auto e = model_.exports.find(first.id);
    const bool live = e != model_.exports.end() && e->second.state == NaiveState::kLive &&
                      e->second.generation == first.generation;
    wanted = live ? HB_NOT_HELD : HB_GONE;
  }
  if (static_cast<std::size_t>(younger) >= limits::kRememberedAnswers) wanted = HB_PROTO;
  expect_answer(actor.session, id,
                [this, wanted, lease = first.lease, exported = first.id](const ReplyBody& body) {
                  expect("resend", status_in(body), wanted);
                  if (const auto* out = std::get_if<Acquired>(&body))
                    expect("lease", out->lease.value, lease);
                  if (const auto* out = std::get_if<Exported>(&body))
                    expect("export", out->id.value, exported);
                });
  apply(actor.session, id, std::move(request));
}

void World::list(Actor& actor, const Command& c) {
  const Principal& who = who_is(actor);
  const std::string prefix = std::string(kNames[c.at(2, 4)]).substr(0, 2);
  std::set<std::uint64_t> wanted;
  for (const auto& [id, e] : model_.exports)
    if (model_.may_see(e, who) && e.name.starts_with(prefix)) wanted.insert(id);
  send(actor, ListRequest{0, prefix}, {}, [this, wanted](const ReplyBody& body) {
    std::set<std::uint64_t> got;
    for (const ExportInfo& info : std::get<Listed>(body).exports) {
      got.insert(info.view.id.value);
      if (!model_.exports.contains(info.view.id.value)) return fail("a list of what is not there");
      const NaiveExport& e = model_.exports.at(info.view.id.value);
      expect("listed size", info.view.size, e.size());
      expect("listed generation", info.view.generation, e.generation);
      check_placement(info.view, e);
      expect("listed access", static_cast<int>(info.access), static_cast<int>(e.access()));
      expect("listed leases", info.leases,
             static_cast<std::uint64_t>(
                 std::count_if(model_.leases.begin(), model_.leases.end(),
                               [&](const auto& lease) { return lease.second.id == info.view.id.value; })));
    }
    if (got != wanted) fail("the list is not what the asker may see");
  });
}

void World::show(Actor& actor, const Command& c) {
  if (model_.exports.empty()) return;
  const Principal& who = who_is(actor);
  const std::uint64_t id =
      std::next(model_.exports.begin(), c.at(2, static_cast<std::uint32_t>(model_.exports.size())))->first;
  const NaiveExport e = model_.exports.at(id);
  const hb_status wanted = model_.by_id(who, id);
  send(actor, ShowRequest{ExportId{id}, 0}, {}, [this, wanted, e, who](const ReplyBody& body) {
    expect("show", status_in(body), wanted);
    const auto* out = std::get_if<Shown>(&body);
    if (out == nullptr) return;
    expect("shown chunks", out->chunks.size(), e.chunks.size());
    const bool owner = who.admin || who.uid == e.uid;
    expect("shown acl", out->acl.size(), owner ? e.acl.size() : 0);
  });
}

void World::who(Actor& actor) {
  const Principal& me = who_is(actor);
  std::set<std::uint64_t> wanted;
  for (const auto& [id, lease] : model_.leases) {
    const NaiveExport& e = model_.exports.at(lease.id);
    const Principal& holder = model_.sessions.at(lease.session);
    const bool mine = e.scope == me.scope.value && e.uid == me.uid;
    if (me.admin || mine || (holder.uid == me.uid && holder.scope == me.scope)) wanted.insert(id);
  }
  send(actor, WhoRequest{}, {}, [this, wanted](const ReplyBody& body) {
    std::set<std::uint64_t> got;
    for (const Holder& holder : std::get<WhoListed>(body).holders) got.insert(holder.lease.value);
    if (got != wanted) fail("who is not what the asker may see");
  });
}

}  // namespace hb::test
