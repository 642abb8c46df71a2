// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// What holders do: acquire, fetch, refresh, release, and say that they unmapped.
#include <algorithm>

#include "core/validity_slots.h"
#include "model/world.h"
#include "model/world_cast.h"

namespace hb::test {

using namespace core;

void World::acquire(Actor& actor, const Command& c, NaiveAim aim, bool wait) {
  const Principal& who = who_is(actor);
  AcquireRequest r;
  r.access = c.at(3, 3) == 0 ? Access::kReadWrite : Access::kRead;
  r.offset = 1000ull * (c.at(4, 8) < 5 ? 0 : c.at(4, 8) * 2);
  r.length = 1000ull * (c.at(5, 8) < 5 ? 0 : c.at(5, 8));
  r.max_handles = c.at(6, 4);
  r.demand = c.at(6, 16) < 12 ? Level::kNone : static_cast<Level>(c.at(6, 4));
  if (wait) r.wait_ns = c.at(6, 5) == 0 ? kNever : (1 + c.bytes[6]) * kTick + 1;
  if (auto* key = std::get_if<KeyBytes>(&aim.target)) {
    if (c.at(7, 16) == 1) {
      (*key)[48 + c.at(6, 16)] ^= 0x10;
      aim.key.true_key = false;
    } else if (c.at(7, 16) == 2 && aim.key.true_key && aim.key.ticket == 0) {
      // A key of a part, as whoever holds the whole makes it.
      KeyFields fields = decode_key(*key);
      aim.key.offset = fields.offset = 4096ull * c.at(5, 3);
      aim.key.length = fields.length = c.at(4, 5) == 4 ? UINT64_MAX : 4096ull * c.at(4, 5);
      const auto known =
          std::find_if(keys_.begin(), keys_.end(), [&](const auto& k) { return k.second == *key; });
      *key = encode_key(fields, secrets_[static_cast<std::size_t>(known - keys_.begin())]);
    }
  }
  r.target = aim.target;
  const Expected wanted = model_.acquire(who, aim, r);
  if (wait && (wanted.status == HB_NOT_FOUND || wanted.status == HB_SUSPENDED)) {
    NaiveWait parked{NaiveWait::Kind::kName, actor.session.value, actor.last_request + 1,
                     deadline(r.wait_ns)};
    parked.owner = std::get<NameRef>(r.target).owner_uid.value_or(who.uid);
    parked.request = r;
    model_.waits.push_back(parked);
    return send(actor, r, {}, {});
  }
  send(actor, r, {}, judge_acquired(actor.session, wanted, r));
}

void World::check_view(const ExportView& view, std::uint64_t id) {
  const NaiveExport& e = model_.exports.at(id);
  expect("export", view.id.value, id);
  expect("generation", view.generation, e.generation);
  expect("layout version", view.layout_version, e.layout_version);
  if (*view.name != e.name) fail("another name");
  expect("owner", view.owner_uid, e.uid);
  if (e.ended() && !model_.is_held(id)) return;  // only remembered
  expect("size", view.size, e.size());
  expect("maximum", view.max_size, e.max_size);
  if (Placement{*view.device, *view.peers} != e.placement) fail("another device, or other peers");
}

void World::check_grant(const Acquired& got, const Expected& wanted) {
  const NaiveExport& e = model_.exports.at(wanted.id);
  check_view(got.exported, wanted.id);
  expect("offset", got.offset, wanted.offset);
  expect("length", got.length, wanted.length);
  expect("level", static_cast<int>(got.level), static_cast<int>(wanted.level));
  expect("follows", got.follows, wanted.follows);
  const auto [first, end] = e.chunks_of(wanted.offset, wanted.length);
  expect("first chunk", got.first_chunk, first);
  expect("chunk count", got.chunk_count, end - first);
  std::uint64_t bytes = 0;
  for (std::uint64_t i = first; i < end; ++i) bytes += e.chunks[i].object.bytes();
  expect("object bytes", got.object_bytes, bytes);
  std::uint64_t base = 0;
  for (std::uint64_t i = 0; i < first; ++i) base += e.chunks[i].size;
  expect("chunk base", got.chunk_base, base);
  if (got.validity_value == 0 || (got.validity_value & kGrownBit) != 0) fail("a validity value that is none");
}

void World::note_lease(const Acquired& got, std::uint64_t session, const Expected& terms, Access access,
                       std::uint64_t order) {
  if (model_.leases.contains(got.lease.value)) fail("a lease id used twice");
  const NaiveExport& e = model_.exports.at(terms.id);
  std::uint32_t lowest = 0;
  while (std::any_of(model_.leases.begin(), model_.leases.end(),
                     [&](const auto& l) { return l.second.session == session && l.second.slot == lowest; }))
    ++lowest;
  expect("validity slot", got.validity_slot, lowest);
  NaiveLease lease{session, terms.id,  terms.offset,  terms.length,    got.validity_slot, got.validity_value,
                   access,  got.level, terms.follows, e.layout_version};
  lease.order = order;
  lease.acked = e.step;
  lease.current = e.current();
  lease.pins = terms.ticket != 0;
  model_.leases[got.lease.value] = lease;
}

World::Judge World::judge_acquired(SessionId session, Expected wanted, AcquireRequest r) {
  return [this, session, wanted, r](const ReplyBody& body) {
    expect("acquire", status_in(body), wanted.status);
    if (wanted.status != HB_OK || status_in(body) != HB_OK) return;
    const auto& got = std::get<Acquired>(body);
    const NaiveExport& e = model_.exports.at(wanted.id);
    check_grant(got, wanted);
    const auto [first, end] = e.chunks_of(wanted.offset, wanted.length);
    check_page(got.page, e, first, end, r.max_handles, got.level);
    note_lease(got, session.value, wanted, r.access, model_.next_order());
    if (wanted.ticket != 0) model_.end_ticket(wanted.ticket);  // each works once
  };
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
  if (page.read_only != (level != Level::kNone)) fail("read_only does not follow the level");
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
  const std::uint64_t id = pick_lease(actor, c.bytes[2]);
  FetchRequest r{LeaseId{id}, c.at(3, 6), c.at(4, 4)};
  const hb_status held = model_.held(actor.session.value, id);
  if (held != HB_OK) return send(actor, r, {}, judge_status(held));
  const NaiveLease lease = model_.leases.at(id);
  const NaiveExport e = model_.exports.at(lease.id);
  const auto [first, end] = e.chunks_of(lease.offset, lease.length);
  if (r.first < first || r.first >= end) return send(actor, r, {}, judge_status(HB_RANGE));
  for (const std::uint64_t changed : e.changed_since(lease.layout_version))
    if (changed >= first && changed < end) return send(actor, r, {}, judge_status(HB_STALE));
  send(actor, r, {}, [this, r, e, last = end, level = lease.level](const ReplyBody& body) {
    expect("fetch", status_in(body), HB_OK);
    if (status_in(body) == HB_OK)
      check_page(std::get<Fetched>(body).page, e, r.first, last, r.max_handles, level);
  });
}

void World::refresh(Actor& actor, const Command& c) {
  const std::uint64_t id = pick_lease(actor, c.bytes[2]);
  RefreshRequest r;
  r.lease = LeaseId{id};
  if (model_.leases.contains(id)) r.have_version = model_.leases.at(id).layout_version;
  if (c.at(3, 4) == 0) r.have_version = c.at(4, 8);
  hb_status status = model_.held(actor.session.value, id);
  if (status != HB_OK) return send(actor, r, {}, judge_status(status));
  const Expected wanted = model_.refreshed(id);
  if (wanted.status != HB_OK) return send(actor, r, {}, judge_status(wanted.status));
  send(actor, r, {}, [this, r, wanted, id](const ReplyBody& body) {
    expect("refresh", status_in(body), HB_OK);
    const auto* out = std::get_if<Refreshed>(&body);
    if (out == nullptr) return;
    const NaiveLease& lease = model_.leases.at(id);
    const NaiveExport& e = model_.exports.at(wanted.id);
    check_grant(out->grant, wanted);
    expect("lease", out->grant.lease.value, id);
    expect("validity slot", out->grant.validity_slot, lease.slot);
    if (out->grant.validity_value == lease.value) fail("a refreshed lease has its old value");
    const auto [first, end] = e.chunks_of(wanted.offset, wanted.length);
    std::set<std::uint64_t> changed;
    for (const std::uint64_t i : e.changed_since(r.have_version))
      if (i >= first && i < end) changed.insert(i);
    std::set<std::uint64_t> got;
    std::uint64_t before = 0;
    for (const ChunkRun& run : out->changed) {
      if (run.count == 0 || (!got.empty() && run.first <= before))
        fail("runs of changed chunks out of order");
      for (std::uint64_t i = run.first; i < run.first + run.count; ++i) got.insert(i);
      before = run.first + run.count - 1;
    }
    if (got != changed) fail("other chunks than those that changed");
    model_.refresh(id, wanted, out->grant.validity_value);
  });
}

void World::release(Actor& actor, const Command& c) {
  const std::uint64_t id = pick_lease(actor, c.bytes[2]);
  const auto found = model_.leases.find(id);
  const bool own = found != model_.leases.end() && found->second.session == actor.session.value;
  if (own) model_.end_lease(id);
  send(actor, ReleaseRequest{LeaseId{id}}, {}, judge_status(own ? HB_OK : HB_NOT_HELD));
}

void World::unmapped(Actor& actor, const Command& c) {
  const std::uint64_t id = pick_lease(actor, c.bytes[2]);
  const auto found = model_.leases.find(id);
  const bool own = found != model_.leases.end() && found->second.session == actor.session.value;
  UnmappedRequest r{LeaseId{id}, 0};
  if (found != model_.leases.end()) r.layout_version = model_.exports.at(found->second.id).layout_version;
  if (c.at(3, 8) == 0) r.layout_version -= 1;
  if (c.at(3, 8) == 1) r.layout_version = 0;  // of whichever sleep
  if (own) model_.unmapped(id, r.layout_version);
  send(actor, r, {}, judge_status(own ? HB_OK : HB_NOT_HELD));
}

}  // namespace hb::test
