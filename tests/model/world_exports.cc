// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Exports: whole, in pages, and such that must be refused.
#include <algorithm>

#include "model/world.h"
#include "model/world_cast.h"
#include "wire/limits.h"

namespace hb::test {

using namespace core;

void World::export_memory(Actor& actor, const Command& c, bool paged) {
  const Principal& who = who_is(actor);
  NaiveExport e;
  e.scope = who.scope.value;
  e.uid = who.uid;
  e.name = kNames[c.at(2, 4)];
  e.replace = c.rest(2, 4) % 4 == 0;
  e.session = actor.session.value;
  e.acl = make_acl(c.at(7, 6));
  e.max_access = c.at(6, 16) < 12 ? Access::kNone : c.at(6, 2) == 0 ? Access::kRead : Access::kReadWrite;
  e.placement = make_placement(c.at(1, 4));
  e.lifetime = static_cast<Lifetime>(c.rest(6, 16) < 8 ? 0 : c.rest(6, 16) % 4);
  if (e.lifetime == Lifetime::kLinger || c.rest(6, 16) == 9) e.linger_ns = linger(c.bytes[5]);
  if (c.rest(6, 16) == 13) e.linger_ns = 0;
  ExportRequest request;
  request.name = e.name;
  request.replace = e.replace;
  request.acl = e.acl;
  request.placement = e.placement;
  request.max_access = e.max_access;
  request.lifetime = e.lifetime;
  request.linger_ns = e.linger_ns;
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
  if (c.rest(3, 21) % 3 != 0) e.max_size = request.total_size + 4096 * (c.rest(3, 21) % 5);
  if (c.rest(3, 21) == 11) e.max_size = 4095;
  request.max_size = e.max_size;

  std::set<hb_status> reasons;
  const bool promised = writes(e.acl) || e.max_access == Access::kReadWrite;
  const std::uint64_t before = model_.bearer(e.scope, e.uid, e.name);
  if (who.admin) reasons.insert(HB_DENIED);
  if (promised && (e.max_access == Access::kRead || any_read_only(objects))) reasons.insert(HB_READ_ONLY);
  if (e.replace && e.name.empty()) reasons.insert(HB_INVALID);
  if (e.max_size != 0 && e.max_size < request.total_size) reasons.insert(HB_INVALID);
  if (const hb_status s = model_.lifetime_status(e.lifetime, e.linger_ns, who); s != HB_OK) reasons.insert(s);
  if (model_.is_being_sent(e.scope, e.uid, e.name)) reasons.insert(HB_EXISTS);
  if (before != 0) {
    const std::uint64_t owner = model_.exports.at(before).session;
    if (!e.replace || (owner != 0 && owner != e.session)) reasons.insert(HB_EXISTS);
  }
  if (!fds_fit(request.distinct_handles)) reasons.insert(HB_NO_FDS);
  if (model_.exports_of(e.scope, e.uid) >= who.limit_of(Resource::kExports)) reasons.insert(HB_QUOTA);
  if (paged && model_.stagings_of(e.session) >= limits::kSessionStagings) reasons.insert(HB_QUOTA);
  if (reasons.empty() && !paged && before != 0) model_.end_export(before, ExportState::kWithdrawn);

  send(actor, std::move(request), std::move(objects), [this, e, paged, reasons](const ReplyBody& body) {
    if (!reasons.empty()) {
      if (!reasons.contains(status_in(body)))
        fail("export refused for another reason: " + std::to_string(status_in(body)));
      return;
    }
    const auto* out = std::get_if<Exported>(&body);
    if (out == nullptr) return fail("export refused: " + std::get<Error>(body).message);
    const std::uint64_t id = out->id.value;
    if (!ids_.insert(id).second) return fail("an export id used twice: " + std::to_string(id));
    model_.exports[id] = e;
    expect("received", out->received_chunks, e.chunks.size());
    if (out->complete == paged) fail("complete at the wrong time");
    if (paged) return;
    model_.complete(id);
    check_exported(*out, id);
    wake_waiters(id);
  });
}

void World::check_exported(const Exported& got, std::uint64_t id) {
  const NaiveExport& e = model_.exports.at(id);
  expect("exported id", got.id.value, id);
  expect("exported generation", got.generation, e.generation);
  expect("exported layout version", got.layout_version, e.layout_version);
  expect("exported access", static_cast<int>(got.access), static_cast<int>(e.access));
  expect("exported size", got.size, e.size());
  expect("received", got.received_chunks, e.chunks.size());
  if (!got.complete) fail("not complete");
  const std::uint64_t length = e.max_size != 0 ? UINT64_MAX : e.size();
  expect("length of the key", decode_key(got.key).length, length);
  const auto known = std::find_if(keys_.begin(), keys_.end(), [&](const auto& entry) {
    return entry.first.id == id && entry.first.generation == e.generation;
  });
  if (known == keys_.end()) {
    keys_.push_back({{id, got.generation, 0, length, true}, got.key});
    secrets_.push_back(got.secret);
  } else if (known->second != got.key) {
    fail("another key under the same generation");
  }
}

// Whoever waits for the name of this export and may read it gets an answer.
void World::wake_waiters(std::uint64_t id) {
  const NaiveExport& e = model_.exports.at(id);
  if (e.name.empty()) return;
  for (std::size_t i = 0; i < model_.waits.size();) {
    const NaiveWait wait = model_.waits[i];
    const Principal& who = model_.sessions.at(wait.session).who;
    if (wait.kind != NaiveWait::Kind::kName || who.scope.value != e.scope || wait.owner != e.uid ||
        std::get<NameRef>(wait.request.target).name != e.name || !model_.may_see(e, who)) {
      ++i;
      continue;
    }
    model_.waits.erase(model_.waits.begin() + static_cast<std::ptrdiff_t>(i));
    const Expected wanted = model_.acquire(who, {wait.request.target, {}}, wait.request);
    expect_answer(SessionId{wait.session}, wait.request_id,
                  judge_acquired(SessionId{wait.session}, wanted, wait.request));
  }
}

void World::export_wrong(Actor& actor, const Command& c) {
  ExportRequest r;
  r.name = kNames[1 + c.at(2, 3)];
  r.total_chunks = 2;
  r.total_size = 8192;
  r.distinct_handles = 2;
  r.chunks = {chunk_of(0, 0, 4096), chunk_of(1, 4096, 4096)};
  std::vector<Object> objects = {pick_object(c.bytes[4]), pick_object(c.bytes[5])};
  switch (c.at(3, 18)) {
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
    case 15:
      r.max_size = UINT64_MAX;
      break;
    case 16:
      r.lifetime = Lifetime::kLinger;
      r.linger_ns = UINT64_MAX;
      break;
    default:
      r.max_access = static_cast<Access>(2);
  }
  send(actor, std::move(r), std::move(objects), [this](const ReplyBody& body) {
    if (status_in(body) == HB_OK) fail("a wrong export was taken");
  });
}

namespace {

// Breaks one thing of a page.
void spoil(ExportChunksRequest& r, std::vector<Object>& objects, const Command& c) {
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

}  // namespace

void World::page(Actor& actor, const Command& c, bool wrong) {
  std::vector<std::uint64_t> sent;
  for (const auto& [id, e] : model_.exports)
    if (e.staging() || model_.change_of(id) != nullptr) sent.push_back(id);
  ExportChunksRequest r;
  r.id = sent.empty() ? ExportId{77} : ExportId{sent[c.bytes[2] % sent.size()]};
  const std::uint64_t id = r.id.value;
  const NaiveChange* change = model_.change_of(id);
  const bool own = !sent.empty() && model_.exports.at(id).session == actor.session.value;
  // What was sent so far, of the export or of a change of it.
  NaiveChange after = change != nullptr ? *change : NaiveChange{};
  if (own && change == nullptr) after.chunks = model_.exports.at(id).chunks;
  if (own && change == nullptr) after.total_chunks = model_.exports.at(id).total_chunks;
  r.first = after.chunks.size();
  std::vector<Object> objects;
  const std::uint64_t count = own && r.first + 2 <= after.total_chunks && c.at(3, 2) == 0 ? 2 : 1;
  bool refused = false;
  for (std::uint64_t i = 0; i < count; ++i) {
    const Object object = pick_object(c.bytes[4 + i]);
    std::uint64_t size = 4096;
    if (own && change != nullptr) {
      const NaiveExport& e = model_.exports.at(id);
      const std::uint64_t number = change->first + r.first + i;
      if (change->kind != ChangeRequest::Kind::kAppend) size = e.chunks[number].size;
      refused =
          refused || (e.sealed && !object.sealed()) || (e.access == Access::kReadWrite && !object.writable);
    } else if (own) {
      const NaiveExport& e = model_.exports.at(id);
      refused = refused || ((writes(e.acl) || e.max_access == Access::kReadWrite) && !object.writable);
    }
    const std::uint64_t offset = 4096 * ((c.bytes[5] + i) % 2);
    r.chunks.push_back(chunk_of(static_cast<std::uint32_t>(i), offset, size));
    objects.push_back(object);
    after.chunks.push_back({object, offset, size});
  }
  if (wrong) {
    refused = true;
    spoil(r, objects, c);
  }
  if (!own) return send(actor, std::move(r), std::move(objects), judge_status(HB_NOT_FOUND));
  const bool complete = !refused && after.chunks.size() == after.total_chunks;
  hb_status status = HB_OK;
  if (refused) {
    model_.drop_staging(id);
  } else if (change != nullptr) {
    return change_page(actor, std::move(r), std::move(objects), after);
  } else {
    NaiveExport& e = model_.exports.at(id);
    e.chunks = after.chunks;
    const std::uint64_t before = model_.bearer(e.scope, e.uid, e.name);
    const std::uint64_t owner = before == 0 ? 0 : model_.exports.at(before).session;
    if (complete && owner != 0 && owner != e.session) {  // claimed meanwhile
      status = HB_EXISTS;
      model_.drop_staging(id);
    } else if (complete) {
      if (before != 0) model_.end_export(before, ExportState::kWithdrawn);
      model_.complete(id);
      wake_waiters(id);
    }
  }
  send(actor, std::move(r), std::move(objects),
       [=, this, received = after.chunks.size()](const ReplyBody& body) {
         if (refused) {
           if (status_in(body) == HB_OK) fail("a wrong page was taken");
           return;
         }
         expect("page", status_in(body), status);
         const auto* out = std::get_if<Exported>(&body);
         if (out == nullptr) return;
         expect("received", out->received_chunks, received);
         if (out->complete != complete) fail("complete at the wrong time");
         if (complete) check_exported(*out, id);
       });
}

void World::abort_staging(Actor& actor, const Command& c) {
  std::vector<std::uint64_t> all;
  for (const auto& [id, e] : model_.exports)
    if (c.at(3, 2) == 0 || e.staging() || model_.change_of(id) != nullptr) all.push_back(id);
  const std::uint64_t id = all.empty() ? 5 : all[c.bytes[2] % all.size()];
  const bool own = !all.empty() && model_.exports.at(id).session == actor.session.value &&
                   (model_.exports.at(id).staging() || model_.change_of(id) != nullptr);
  if (own) model_.drop_staging(id);
  send(actor, ExportAbortRequest{ExportId{id}}, {}, judge_status(own ? HB_OK : HB_NOT_FOUND));
}

}  // namespace hb::test
