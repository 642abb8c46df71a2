// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "core/ticket.h"

#include <utility>

#include "core/access_rules.h"
#include "core/ending.h"
#include "core/failure.h"
#include "core/quota.h"
#include "core/verbs.h"
#include "wire/key.h"
#include "wire/limits.h"

namespace hb::core {

namespace {

// A domain of its own: no export is ever of this generation.
constexpr std::uint32_t kTicketGeneration = UINT32_MAX;

Secret secret_of(const Core& core, TicketId id) {
  return derive_secret(core.config.master, id.value, kTicketGeneration);
}

Error unknown_ticket() {
  return failure(HB_NOT_FOUND,
                 "the ticket names nothing here: it is of another broker or scope, is damaged, or ended "
                 "long ago");
}

Error ended_ticket(TicketEnd how) {
  switch (how) {
    case TicketEnd::kUsed:
      return failure(HB_GONE, "the ticket has been used: each works once; ask its maker for another");
    case TicketEnd::kDropped:
      return failure(HB_GONE, "the ticket was dropped by its maker");
    case TicketEnd::kExpired:
      return failure(HB_GONE,
                     "the ticket's time is over; ask its maker for another, or one that lasts longer");
    case TicketEnd::kRevoked:
      return failure(HB_REVOKED, "the export was revoked, and the ticket with it");
    default:
      return failure(HB_GONE, "the export of the ticket ended while it slept: no memory was left to keep");
  }
}

// True, of this broker and scope, and remembered.
tl::expected<std::uint32_t, Error> find_true(const Core& core, const Principal& who, const KeyBytes& key) {
  const KeyFields fields = decode_key(key);
  if (fields.version != kKeyVersion)
    return tl::unexpected(
        failure(HB_VERSION, "key version ", fields.version, ", this daemon knows ", kKeyVersion));
  if (fields.kind != KeyKind::kTicket)
    return tl::unexpected(failure(HB_INVALID, "this is a key, not a ticket"));
  const TicketId id{fields.export_id};
  const Ticket* const ticket = core.tickets.find(id);
  if (fields.broker != core.config.broker_id || !key_is_authentic(key, secret_of(core, id)) ||
      ticket == nullptr || ticket->scope != who.scope)
    return tl::unexpected(unknown_ticket());
  return id.slot();
}

struct Subject {
  Found of;  // the whole that the maker may give a part of
  Access access = Access::kNone;
};

tl::expected<Subject, Error> subject_of(const Core& core, const Asker& asker,
                                        const MakeTicketRequest& request) {
  if (static_cast<bool>(request.id) == static_cast<bool>(request.lease))
    return tl::unexpected(failure(HB_INVALID, "a ticket is of an export or of a lease: name one of the two"));
  if (request.id) {
    const auto slot = find_own(core, asker, request.id);
    if (!slot) return tl::unexpected(slot.error());
    const Export& e = core.exports.at(*slot);
    return Subject{{*slot, 0, e.size()}, e.access};
  }
  const Lease* const lease = core.leases.find(request.lease);
  if (lease == nullptr || lease->session != asker.id.slot())
    return tl::unexpected(failure(HB_NOT_HELD, "lease ", request.lease.value,
                                  " is not held by this session: released already, or never granted"));
  const Export& e = core.exports.at(lease->exported);
  // What came by a ticket may go on by a ticket after the end; a plain lease pins nothing by then.
  if (has_ended(e.state) && !lease->pins) return tl::unexpected(ended_error(core, e));
  return Subject{{lease->exported, lease->offset, lease->length}, lease->access};
}

std::optional<Error> refuse_ticket(const MakeTicketRequest& request, const Principal& who) {
  if (who.admin) return failure(HB_DENIED, "the admin socket makes no tickets: use the main socket");
  if (request.access != Access::kRead && request.access != Access::kReadWrite)
    return failure(HB_INVALID, "access must be 1 (read) or 3 (read and write), not ",
                   static_cast<unsigned>(request.access));
  if (request.ttl_ns == 0) return failure(HB_INVALID, "ttl_ns is 0: a ticket lasts for a time");
  if (request.ttl_ns > limits::kTicketNs)
    return over_bound("ns of a ticket", request.ttl_ns, limits::kTicketNs, who.uid);
  return std::nullopt;
}

}  // namespace

bool is_ticket(const Target& target) {
  const auto* const key = std::get_if<KeyBytes>(&target);
  return key != nullptr && decode_key(*key).kind == KeyKind::kTicket;
}

tl::expected<Found, Error> find_by_ticket(const Core& core, const Principal& who, const KeyBytes& key) {
  const auto slot = find_true(core, who, key);
  if (!slot) return tl::unexpected(slot.error());
  const Ticket& ticket = core.tickets.at(*slot);
  const Export* const e = core.exports.find(ticket.exported);
  const bool seen = e != nullptr && may_see(core.exports, *e, who);
  if (ticket.end != TicketEnd::kNone)
    return tl::unexpected(seen ? ended_ticket(ticket.end) : unknown_ticket());
  if (!seen)
    return tl::unexpected(failure(HB_DENIED, "the ticket is true, but uid ", who.uid,
                                  " has no right to read what it names; the export's owner can grant it"));
  Found found{ticket.exported.slot(), ticket.offset, ticket.length};
  found.ticket = *slot;
  return found;
}

Outcome make_ticket(Call& call, Asker& asker, const MakeTicketRequest& request) {
  Core& core = call.core;
  const Principal& principal = asker.session.principal;
  if (auto refused = refuse_ticket(request, principal)) return std::move(*refused);
  if (auto refused = refuse_verb(core, principal, request.id ? Verb::kExport : Verb::kAcquire))
    return std::move(*refused);
  const auto subject = subject_of(core, asker, request);
  if (!subject) return subject.error();
  const std::uint32_t slot = subject->of.slot;
  Export& e = core.exports.at(slot);
  if (e.state == ExportState::kSuspended)
    return failure(HB_SUSPENDED, "the export is asleep and a ticket would pin nothing; resume it first");
  if (!allows(subject->access, request.access))
    return failure(HB_READ_ONLY, "write access asked for a ticket, its maker has only read");
  const auto range = range_in(e, subject->of, request.offset, request.length);
  if (!range) return range.error();
  if (auto refused = charge(core, asker.session, Resource::kTickets)) return std::move(*refused);

  Ticket ticket;
  ticket.offset = range->offset;
  ticket.length = range->length;
  ticket.made = call.now;
  ticket.deadline = request.ttl_ns > kNever - call.now ? kNever : call.now + request.ttl_ns;
  ticket.maker = asker.id;
  ticket.process = asker.session.process;
  ticket.exported = core.exports.id_of(slot);
  ticket.scope = principal.scope;
  ticket.uid = principal.uid;
  ticket.gid = principal.gid;
  ticket.account = asker.session.account;
  core.accounts.add_reference(ticket.account);
  ticket.access = request.access;
  const std::uint32_t made = core.tickets.emplace(std::move(ticket));
  ExportLife& life = core.exports.life_of(slot);
  link_front<&Ticket::of_export>(core.tickets.table(), life.tickets, made);
  ++life.ticket_count;
  core.tickets.at(made).timer =
      core.deadlines.insert(core.tickets.at(made).deadline, {Deadline::Kind::kTicket, made});

  const TicketId id = core.tickets.id_of(made);
  KeyFields fields;
  fields.kind = KeyKind::kTicket;
  fields.broker = core.config.broker_id;
  fields.export_id = id.value;
  fields.generation = e.generation;
  fields.offset = range->offset;
  fields.length = range->length;
  return TicketMade{encode_key(fields, secret_of(core, id))};
}

Outcome drop_ticket(Call& call, Asker& asker, const DropTicketRequest& request) {
  const Core& core = call.core;
  const Principal& principal = asker.session.principal;
  const auto slot = find_true(core, principal, request.ticket);
  if (!slot) return slot.error();
  const Ticket& ticket = core.tickets.at(*slot);
  if (ticket.uid != principal.uid) {
    const auto found = find_by_ticket(core, principal, request.ticket);
    if (!found) return found.error();
    return failure(HB_DENIED, "only a process of uid ", ticket.uid, ", its maker's, drops this ticket");
  }
  if (ticket.end != TicketEnd::kNone) return ended_ticket(ticket.end);
  end_ticket(call, *slot, TicketEnd::kDropped);
  Outcome outcome(TicketDropped{});
  outcome.after_close = !call.closing.empty();
  return outcome;
}

void end_ticket(Call& call, std::uint32_t ticket_slot, TicketEnd how) {
  Core& core = call.core;
  Ticket& ticket = core.tickets.at(ticket_slot);
  const std::uint32_t export_slot = ticket.exported.slot();
  if (ticket.timer != kNoSlot) core.deadlines.erase(ticket.timer);
  ticket.timer = kNoSlot;
  Session* const maker = core.sessions.find(ticket.maker);
  if (maker != nullptr)
    give_back(core, *maker, Resource::kTickets);
  else
    give_back(core, ticket.account, Resource::kTickets);
  core.accounts.drop_reference(std::exchange(ticket.account, kNoSlot));
  ExportLife& life = core.exports.life_of(export_slot);
  unlink<&Ticket::of_export>(core.tickets.table(), life.tickets, ticket_slot);
  --life.ticket_count;
  core.tickets.remember(ticket_slot, how);
  settle_end(call, export_slot);
}

void drop_pins(Call& call, std::uint32_t export_slot, TicketEnd how) {
  Core& core = call.core;
  Export& e = core.exports.at(export_slot);
  if (e.life == nullptr) return;
  for (std::uint32_t slot = e.leases; e.life->pinning != 0; slot = core.leases.at(slot).of_export.next) {
    Lease& lease = core.leases.at(slot);
    e.life->pinning -= lease.pins ? 1 : 0;
    lease.pins = false;
  }
  if (e.life->tickets == kNoSlot) return settle_end(call, export_slot);
  // The last one may make an end of the record's life.
  for (std::uint32_t left = e.life->ticket_count; left != 0; --left) end_ticket(call, e.life->tickets, how);
}

void expire_ticket(Call& call, std::uint32_t ticket_slot) {
  call.core.tickets.at(ticket_slot).timer = kNoSlot;  // it was taken out of the queue
  end_ticket(call, ticket_slot, TicketEnd::kExpired);
}

}  // namespace hb::core
