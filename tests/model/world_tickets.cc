// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Tickets: made of exports and of leases, dropped; acquire() uses them.
#include <algorithm>

#include "model/world.h"
#include "model/world_cast.h"

namespace hb::test {

using namespace core;

NaiveAim World::aim_by_ticket(std::uint32_t which) const {
  if (tickets_.empty()) return aim_by_key(which);
  const std::size_t back = which % 3 == 0 ? which / 3 : which / 3 % 3;
  const auto& [id, key] = tickets_[tickets_.size() - 1 - std::min<std::size_t>(back, tickets_.size() - 1)];
  NaiveKey naive;
  naive.ticket = id;
  return {key, naive};
}

void World::make_ticket(Actor& actor, const Command& c) {
  const Principal& who = who_is(actor);
  const std::uint64_t me = actor.session.value;
  MakeTicketRequest r;
  const bool by_lease = c.at(3, 2) == 0;
  if (by_lease || c.at(3, 16) == 7) r.lease = LeaseId{pick_lease(actor, c.bytes[2])};
  if (!by_lease || c.at(3, 16) == 8) r.id = ExportId{pick_export(actor, c.bytes[2])};
  r.offset = 1000ull * (c.at(4, 8) < 5 ? 0 : c.at(4, 8) * 2);
  r.length = 1000ull * (c.at(5, 8) < 5 ? 0 : c.at(5, 8));
  r.access = c.at(6, 4) == 0 ? Access::kReadWrite : Access::kRead;
  r.ttl_ns = c.at(6, 32) == 31 ? 0 : linger(c.bytes[6]);
  hb_status wanted = HB_OK;
  NaiveTicket ticket;
  ticket.access = Access::kReadWrite;
  if (r.id) {
    wanted = model_.own(me, r.id.value);
    if (wanted == HB_OK) {
      const NaiveExport& e = model_.exports.at(r.id.value);
      ticket = {r.id.value, 0, e.size(), e.access};
    }
  } else {
    const auto lease = model_.leases.find(r.lease.value);
    if (lease == model_.leases.end() || lease->second.session != me) {
      wanted = HB_NOT_HELD;
    } else {
      const NaiveExport& e = model_.exports.at(lease->second.id);
      if (e.ended() && !lease->second.pins) wanted = model_.status_of_end(e);
      ticket = {lease->second.id, lease->second.offset, lease->second.length, lease->second.access};
    }
  }
  if (wanted == HB_OK && model_.exports.at(ticket.id).asleep()) wanted = HB_SUSPENDED;
  if (wanted == HB_OK && r.access > ticket.access) wanted = HB_READ_ONLY;
  if (wanted == HB_OK && (r.offset >= ticket.length || r.offset + r.length > ticket.length))
    wanted = HB_RANGE;
  if ((r.id && r.lease) || r.ttl_ns == 0) wanted = HB_INVALID;
  if (who.admin) wanted = HB_DENIED;
  if (wanted != HB_OK) return send(actor, r, {}, judge_status(wanted));
  ticket.offset += r.offset;
  ticket.length = r.length == 0 ? ticket.length - r.offset : r.length;
  ticket.access = r.access;
  ticket.deadline = now_ + r.ttl_ns;
  ticket.scope = who.scope.value;
  ticket.uid = who.uid;
  send(actor, r, {}, [this, ticket](const ReplyBody& body) {
    const auto* out = std::get_if<TicketMade>(&body);
    if (out == nullptr) return fail("no ticket: " + std::get<Error>(body).message);
    const std::uint64_t id = decode_key(out->ticket).export_id;
    if (model_.tickets.contains(id)) return fail("a ticket id used twice");
    model_.tickets[id] = ticket;
    model_.tickets[id].order = model_.next_order();
    tickets_.emplace_back(id, out->ticket);
  });
}

void World::drop_ticket(Actor& actor, const Command& c) {
  const Principal& who = who_is(actor);
  NaiveAim target = c.at(3, 8) == 0 ? aim_by_key(c.bytes[2]) : aim_by_ticket(c.bytes[2]);
  DropTicketRequest r{std::get<KeyBytes>(target.target)};
  if (c.at(4, 16) == 1) {
    r.ticket[48 + c.at(5, 16)] ^= 0x10;
    target.key.true_key = false;
  }
  if (target.key.ticket == 0) {  // a key, or none at all
    if (keys_.empty()) return;
    return send(actor, r, {}, judge_status(HB_INVALID));
  }
  const NaiveTicket& ticket = model_.tickets.at(target.key.ticket);
  hb_status wanted = model_.status_of_ticket(who, ticket);
  if (wanted == HB_OK && ticket.uid != who.uid) wanted = HB_DENIED;
  if (!ticket.stands && ticket.uid == who.uid) wanted = ticket.revoked ? HB_REVOKED : HB_GONE;
  if (ticket.stands && ticket.uid == who.uid) wanted = HB_OK;  // its maker, whatever became of the rights
  if (!target.key.true_key || ticket.scope != who.scope.value) wanted = HB_NOT_FOUND;
  if (wanted == HB_OK) model_.end_ticket(target.key.ticket);
  send(actor, r, {}, judge_status(wanted));
}

}  // namespace hb::test
