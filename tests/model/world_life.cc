// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// What owners and their successors do: withdraw, revoke, suspend, claim.
#include <algorithm>

#include "model/world.h"
#include "model/world_cast.h"

namespace hb::test {

using namespace core;
using Kind = NaiveWait::Kind;

void World::drain(Actor& actor, Request request, NaiveWait wait, std::uint64_t wait_ns) {
  wait.session = actor.session.value;
  wait.request_id = actor.last_request + 1;
  wait.deadline = deadline(wait_ns);
  const NaiveAnswer now = model_.answer_to(wait);
  if (wait_ns == 0 || model_.is_over(wait)) return send(actor, std::move(request), {}, judge_waited(now));
  model_.waits.push_back(wait);
  send(actor, std::move(request), {}, {});
}

void World::withdraw(Actor& actor, const Command& c) {
  const Principal& who = who_is(actor);
  const std::uint64_t me = actor.session.value;
  WithdrawRequest r;
  if (c.at(3, 2) == 0) r.wait_ns = (1 + c.bytes[4]) * kTick + 1;
  if (c.at(2, 16) == 0) {
    r.all = true;
    if (who.admin) return send(actor, r, {}, judge_status(HB_UNSUPPORTED));
    if (r.wait_ns != 0) return send(actor, r, {}, judge_status(HB_INVALID));
    std::set<std::uint64_t> left;
    const std::vector<std::uint64_t> victims = model_.owned_by(me);
    for (const std::uint64_t id : victims) {
      model_.end_export(id, ExportState::kWithdrawn);
      for (const std::uint64_t lease : model_.leases_of(id)) left.insert(lease);
      for (const std::uint64_t ticket : model_.tickets_of(id)) left.insert(ticket_mark(ticket));
    }
    return send(actor, r, {}, [this, left, count = victims.size()](const ReplyBody& body) {
      const auto& out = std::get<Withdrawn>(body);
      expect("withdrawn", out.exports, count);
      expect("holders", out.holder_count, left.size());
      check_holders("holders of all", out.holders, out.more_holders, left);
    });
  }
  const NaiveAim target =
      c.at(2, 4) == 1 ? aim(c, 5) : NaiveAim{ExportId{pick_export(actor, c.bytes[5])}, {}};
  r.target = target.target;
  const NaiveFound found = model_.find(who, target);
  hb_status wanted = found.status;
  if (wanted == HB_OK && model_.exports.at(found.id).session != me) wanted = HB_DENIED;
  if (const auto* id = std::get_if<ExportId>(&r.target)) {
    const auto e = model_.exports.find(id->value);
    if (e != model_.exports.end() && e->second.staging() && e->second.session == me) wanted = HB_BUSY;
  }
  if (std::holds_alternative<KeyBytes>(r.target)) wanted = HB_INVALID;
  if (who.admin) wanted = HB_UNSUPPORTED;
  if (wanted != HB_OK) return send(actor, r, {}, judge_status(wanted));
  model_.end_export(found.id, ExportState::kWithdrawn);
  NaiveWait wait{Kind::kLeft};
  wait.id = found.id;
  wait.exports = 1;
  drain(actor, r, wait, r.wait_ns);
}

void World::revoke(Actor& actor, const NaiveAim& target, std::uint64_t grace_ns) {
  const Principal& who = who_is(actor);
  const RevokeRequest r{target.target, grace_ns};
  const NaiveFound found = model_.look(who, target);
  if (found.status != HB_OK) return send(actor, r, {}, judge_status(found.status));
  const NaiveExport& e = model_.exports.at(found.id);
  const bool mine = who.uid == e.uid && who.scope.value == e.scope;
  if (!mine && !who.admin) return send(actor, r, {}, judge_status(HB_DENIED));
  NaiveWait wait{Kind::kLeft};
  wait.id = found.id;
  wait.exports = e.current() ? 1 : 0;
  model_.drop_pins(found.id, true);
  if (e.current()) model_.end_export(found.id, ExportState::kRevoked);
  drain(actor, r, wait, grace_ns);
}

void World::suspend(Actor& actor, const Command& c) {
  const std::uint64_t id = pick_export(actor, c.bytes[2]);
  SuspendRequest r{ExportId{id}, c.at(3, 2) == 0 ? 0 : (1 + c.bytes[4]) * kTick + 1};
  const hb_status own = model_.own(actor.session.value, id);
  if (own != HB_OK) return send(actor, r, {}, judge_status(own));
  const bool awake = !model_.exports.at(id).asleep();
  if (awake && model_.change_of(id) != nullptr) return send(actor, r, {}, judge_status(HB_BUSY));
  if (awake) model_.suspend(id);
  NaiveWait wait{Kind::kUnmapped};
  wait.id = id;
  wait.exports = awake ? 1 : 0;
  drain(actor, r, wait, r.wait_ns);
}

void World::claim(Actor& actor, const Command& c) {
  const Principal& who = who_is(actor);
  NaiveAim target = aim(c, 2);
  std::vector<std::uint64_t> orphans;
  for (const auto& [id, e] : model_.exports)
    if (e.state == ExportState::kOrphaned) orphans.push_back(id);
  if (!orphans.empty() && c.at(3, 4) != 0) {
    const std::uint64_t id = orphans[c.rest(2, 2) % orphans.size()];
    const NaiveExport& e = model_.exports.at(id);
    const auto key = std::find_if(keys_.begin(), keys_.end(), [&](const auto& entry) {
      return entry.first.id == id && entry.first.generation == e.generation;
    });
    target = {key->second, key->first};
    if (!e.name.empty() && c.at(2, 2) == 0) target = {NameRef{e.name, e.uid}, {}};
  }
  ClaimRequest r{target.target, static_cast<Lifetime>(c.rest(3, 4) % 4), 0};
  if (r.lifetime == Lifetime::kLinger) r.linger_ns = linger(c.bytes[4]);
  if (c.at(4, 16) == 7) r.linger_ns = linger(3);
  const NaiveFound found = model_.find(who, target);
  hb_status wanted = found.status;
  bool owned = false;  // then it is only told again
  if (wanted == HB_OK) {
    const NaiveExport& e = model_.exports.at(found.id);
    wanted = model_.lifetime_status(r.lifetime, r.linger_ns, who);
    owned = e.session == actor.session.value && e.state == ExportState::kLive;
    if (wanted == HB_OK && e.state != ExportState::kOrphaned && !owned) wanted = HB_EXISTS;
    if (e.uid != who.uid) wanted = HB_DENIED;
  }
  if (std::holds_alternative<ExportId>(r.target)) wanted = HB_INVALID;
  if (who.admin) wanted = HB_DENIED;
  if (wanted != HB_OK) return send(actor, r, {}, judge_status(wanted));
  if (!owned) model_.claim(found.id, actor.session.value, r.lifetime, r.linger_ns);
  send(actor, r, {}, [this, id = found.id](const ReplyBody& body) {
    const auto* out = std::get_if<Exported>(&body);
    if (out == nullptr) return fail("claim refused: " + std::get<Error>(body).message);
    check_exported(*out, id);
  });
}

}  // namespace hb::test
