// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Exports that get other chunks: append, replace, resume; whole, in pages, and such that must be refused.
#include <algorithm>

#include "model/world.h"
#include "model/world_cast.h"
#include "wire/limits.h"

namespace hb::test {

using namespace core;
using Kind = ChangeRequest::Kind;

World::Judge World::judge_changed(std::uint64_t id) {
  // As it is now: an answer tells what its own change made of the export.
  return [this, id](const ReplyBody& body) {
    const auto* out = std::get_if<Exported>(&body);
    if (out == nullptr) return fail("change refused: " + std::get<Error>(body).message);
    check_exported(*out, id);
  };
}

void World::change(Actor& actor, const Command& c, bool paged) {
  const std::uint64_t id = pick_export(actor, c.bytes[2]);
  const hb_status own = model_.own(actor.session.value, id);
  const NaiveExport e = model_.exports.contains(id) ? model_.exports.at(id) : NaiveExport{};
  const std::uint64_t chunks = e.chunks.size();
  NaiveChange change{actor.session.value, id, e.asleep() ? Kind::kResume : Kind::kAppend};
  if (c.at(3, 8) < 3 && !e.asleep()) change.kind = Kind::kReplace;
  if (c.at(3, 8) == 7) change.kind = static_cast<Kind>(c.rest(3, 8) % 5);
  change.first = change.kind == Kind::kReplace  ? c.at(6, static_cast<std::uint32_t>(chunks) + 1)
                 : change.kind == Kind::kAppend ? chunks
                                                : 0;
  change.total_chunks = change.kind == Kind::kResume ? chunks : 1 + c.rest(3, 8) % 3;
  if (c.at(6, 32) == 30) ++change.total_chunks;
  if (change.total_chunks == 0) change.total_chunks = 1;
  ChangeRequest r;
  r.id = ExportId{id};
  r.kind = change.kind;
  r.first = change.kind == Kind::kReplace ? change.first : c.at(6, 3);
  r.total_chunks = r.distinct_handles = change.total_chunks;
  r.device = e.placement.device;
  if (c.at(7, 32) == 7) r.device.partition = 9;

  std::set<hb_status> reasons;
  std::vector<Object> objects;
  const std::uint64_t sent =
      paged ? std::max<std::uint64_t>(change.total_chunks, 2) - 1 : change.total_chunks;
  for (std::uint64_t i = 0; i < change.total_chunks; ++i) {
    const std::uint64_t number = change.first + i;
    std::uint64_t size = 4096 * (1 + (c.bytes[5] + i) % 2);
    if (change.kind == Kind::kAppend || number >= chunks) {
      if (paged) size = 4096;  // as page() sends it
    } else if (c.at(5, 32) != 31 || i >= sent) {
      size = e.chunks[number].size;
    } else if (size != e.chunks[number].size) {
      reasons.insert(HB_MISMATCH);
    }
    r.total_size += size;
    if (i >= sent) continue;
    const Object object = pick_object(c.bytes[4] + static_cast<std::uint32_t>(i) * 3u);
    const std::uint64_t offset = 4096 * ((c.bytes[5] / 4 + i) % 3);
    change.chunks.push_back({object, offset, size});
    objects.push_back(object);
    r.chunks.push_back(chunk_of(static_cast<std::uint32_t>(i), offset, size));
    if (e.sealed && !object.sealed()) reasons.insert(HB_LEVEL);
    if (e.access == Access::kReadWrite && !object.writable) reasons.insert(HB_READ_ONLY);
  }
  const bool half = sent < change.total_chunks;
  if (e.asleep() && change.kind != Kind::kResume) reasons.insert(HB_SUSPENDED);
  if (!e.asleep() && change.kind == Kind::kResume) reasons.insert(HB_INVALID);
  if (change.kind == Kind::kNone || change.kind > Kind::kResume) reasons.insert(HB_UNSUPPORTED);
  if (model_.change_of(id) != nullptr) reasons.insert(HB_BUSY);
  if (change.kind == Kind::kAppend && e.max_size == 0) reasons.insert(HB_UNSUPPORTED);
  if (change.kind == Kind::kAppend && e.size() + r.total_size > e.max_size) reasons.insert(HB_RANGE);
  if (change.kind == Kind::kReplace && change.first + change.total_chunks > chunks) reasons.insert(HB_RANGE);
  if (change.kind == Kind::kResume && (change.total_chunks != chunks || r.total_size != e.size()))
    reasons.insert(HB_MISMATCH);
  if (!(r.device == e.placement.device)) reasons.insert(HB_MIXED);
  if (!fds_fit(change.total_chunks)) reasons.insert(HB_NO_FDS);
  if (half && model_.stagings_of(change.session) >= limits::kSessionStagings) reasons.insert(HB_QUOTA);
  if (own != HB_OK) reasons = {own};
  if (!reasons.empty())
    return send(actor, std::move(r), std::move(objects), [this, reasons](const ReplyBody& body) {
      if (!reasons.contains(status_in(body)))
        fail("change refused for another reason: " + std::to_string(status_in(body)));
    });
  if (!half) {
    take_change(change);
    return send(actor, std::move(r), std::move(objects), judge_changed(id));
  }
  model_.changes.push_back(change);
  send(actor, std::move(r), std::move(objects), [this, sent](const ReplyBody& body) {
    const auto* out = std::get_if<Exported>(&body);
    if (out == nullptr) return fail("change refused: " + std::get<Error>(body).message);
    expect("received", out->received_chunks, sent);
    if (out->complete) fail("complete at the wrong time");
  });
}

void World::take_change(const NaiveChange& change) {
  model_.change(change);
  if (change.kind == Kind::kResume) wake_waiters(change.id);
}

void World::change_page(Actor& actor, ExportChunksRequest r, std::vector<Object> objects,
                        const NaiveChange& after) {
  const auto so_far = std::find_if(model_.changes.begin(), model_.changes.end(),
                                   [&](const NaiveChange& c) { return c.id == after.id; });
  if (after.chunks.size() < after.total_chunks) {
    *so_far = after;
    return send(actor, std::move(r), std::move(objects),
                [this, received = after.chunks.size()](const ReplyBody& body) {
                  const auto* out = std::get_if<Exported>(&body);
                  if (out == nullptr) return fail("page refused: " + std::get<Error>(body).message);
                  expect("received", out->received_chunks, received);
                  if (out->complete) fail("complete at the wrong time");
                });
  }
  model_.changes.erase(so_far);
  take_change(after);
  send(actor, std::move(r), std::move(objects), judge_changed(after.id));
}

void World::change_wrong(Actor& actor, const Command& c) {
  const std::uint64_t id = pick_export(actor, c.bytes[2]);
  const NaiveExport e = model_.exports.contains(id) ? model_.exports.at(id) : NaiveExport{};
  ChangeRequest r;
  r.id = ExportId{id};
  r.kind = e.asleep() ? Kind::kResume : Kind::kReplace;
  r.device = e.placement.device;
  std::vector<Object> objects;
  for (const NaiveChunk& chunk : e.chunks) {
    r.chunks.push_back(chunk_of(static_cast<std::uint32_t>(r.chunks.size()), 0, chunk.size));
    objects.push_back(pick_object(c.bytes[4]));
    r.total_size += chunk.size;
  }
  if (r.chunks.empty()) r.chunks = {chunk_of(0, 0, 4096)}, objects = {pick_object(c.bytes[4])};
  r.total_chunks = r.distinct_handles = r.chunks.size();
  switch (c.at(3, 12)) {
    case 0:
      r.chunks.back().offset = UINT64_MAX;
      break;
    case 1:
      r.chunks.back().size = 0;
      break;
    case 2:
      r.chunks.front().size += 4096;
      break;
    case 3:
      r.chunks.front().handle = 90;
      break;
    case 4:
      objects.push_back(pick_object(c.bytes[6]));
      break;
    case 5:
      ++r.total_size;
      break;
    case 6:
      r.total_chunks = UINT64_MAX;
      break;
    case 7:
      r.chunks.clear();
      break;
    case 8:
      r.chunks.front().handle = NewChunk::kNoHandle;
      break;
    case 9:
      r.first = UINT64_MAX;
      r.total_chunks = UINT64_MAX;
      break;
    case 10:
      r.chunks.front().opaque = "x";
      break;
    default:
      r.kind = Kind::kAppend;
      r.total_chunks = r.total_size = UINT64_MAX;
  }
  send(actor, std::move(r), std::move(objects), [this](const ReplyBody& body) {
    if (status_in(body) == HB_OK) fail("a wrong change was taken");
  });
}

}  // namespace hb::test
