// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Lists, and requests that are taken back or sent again.
#include <algorithm>

#include "model/world.h"
#include "model/world_cast.h"
#include "wire/limits.h"

namespace hb::test {

using namespace core;

void World::cancel(Actor& actor, const Command& c) {
  std::uint64_t id = c.bytes[3];
  if (!model_.waits.empty())
    id = model_.waits[c.at(2, static_cast<std::uint32_t>(model_.waits.size()))].request_id;
  const auto found = std::find_if(model_.waits.begin(), model_.waits.end(), [&](const NaiveWait& wait) {
    return wait.session == actor.session.value && wait.request_id == id;
  });
  if (found != model_.waits.end() && found->kind == NaiveWait::Kind::kMember) {
    model_.end_group(found->group, HB_CANCELED);
    settle();
  } else if (found != model_.waits.end()) {
    expect_answer(actor.session, id, judge_status(HB_CANCELED));
    model_.waits.erase(found);
  }
  apply(actor.session, 0, CancelRequest{id});
}

// Of a join that is sent again.
hb_status World::rejoin_status(const NaiveWait& joined) const {
  const auto group = model_.groups.find(joined.group);
  if (group == model_.groups.end() || model_.rank_in(joined.group, joined.session) != joined.rank)
    return HB_GONE;
  if (group->second.phase == NaiveGroup::Phase::kEnded) return group->second.end;
  for (const std::uint64_t lease : group->second.ranks.at(joined.rank).leases) {
    if (!model_.leases.contains(lease)) return HB_NOT_HELD;
    if (!model_.leases.at(lease).current) return HB_STALE;
  }
  return HB_OK;
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
  const auto younger = std::count_if(actor.mutating.begin(), actor.mutating.end(),
                                     [&](const auto& other) { return other.second.order > first.order; });
  hb_status wanted = first.status;
  if (first.lease != 0) {
    const auto lease = model_.leases.find(first.lease);
    const auto e = model_.exports.find(first.id);
    const bool pinned = lease != model_.leases.end() && e->second.ended() && lease->second.pins &&
                        lease->second.layout_version == e->second.layout_version;
    if (pinned)
      wanted = HB_OK;
    else if (e == model_.exports.end() || e->second.ended())
      wanted = HB_GONE;
    else if (lease == model_.leases.end())
      wanted = HB_NOT_HELD;
    else if (!lease->second.current)
      wanted = HB_STALE;
  }
  if (first.joined.group != 0) wanted = rejoin_status(first.joined);
  if (static_cast<std::size_t>(younger) >= limits::kRememberedAnswers) wanted = HB_PROTO;
  expect_answer(actor.session, id, [this, wanted, first](const ReplyBody& body) {
    expect("resend", status_in(body), wanted);
    if (const auto* out = std::get_if<Acquired>(&body)) {
      expect("lease", out->lease.value, first.lease);
      if (!model_.leases.contains(first.lease)) return;
      const NaiveLease& lease = model_.leases.at(first.lease);
      const Expected grant{HB_OK, lease.id, lease.offset, lease.length, lease.level, lease.follows};
      check_grant(*out, grant);
      expect("validity value", out->validity_value, lease.value);
    }
    if (const auto* out = std::get_if<Exported>(&body)) {
      expect("export", out->id.value, first.id);
      expect("layout version", out->layout_version, first.layout_version);
    }
    if (const auto* out = std::get_if<Withdrawn>(&body))
      check_holders("holders, again", out->holders, false, first.holders);
    if (const auto* out = std::get_if<Joined>(&body)) judge_joined(*out, first.joined);
    if (const auto* out = std::get_if<TicketMade>(&body); out != nullptr && out->ticket != first.ticket)
      fail("another ticket");
  });
  apply(actor.session, id, std::move(request));
}

void World::check_info(const ExportInfo& info, const NaiveExport& e) {
  const std::uint64_t id = info.view.id.value;
  check_view(info.view, id);
  expect("state", static_cast<int>(info.state), static_cast<int>(e.state));
  expect("access", static_cast<int>(info.access), static_cast<int>(e.access));
  expect("leases", info.leases, model_.leases_of(id).size());
  if (e.ended() && !model_.is_held(id)) return;
  expect("tickets", info.tickets, model_.tickets_of(id).size());
  expect("chunks", info.chunks, e.chunks.size());
  expect("step", info.step, e.step);
  if (!e.current()) return;
  expect("lifetime", static_cast<int>(info.lifetime), static_cast<int>(e.lifetime));
  expect("linger", info.linger_ns, e.linger_ns);
  expect("left to linger", info.linger_left_ns, e.linger_end == kNever ? 0 : e.linger_end - now_);
  std::set<Object> objects;
  for (const NaiveChunk& chunk : e.chunks)
    if (e.holds_memory()) objects.insert(chunk.object);
  expect("descriptors", info.descriptors, objects.size());
  expect("owner", info.owner.uid, e.uid);
  if (e.session != 0) expect("owner's session", info.owner.id.value, e.session);
}

void World::list(Actor& actor, const Command& c) {
  const Principal& who = who_is(actor);
  const bool ended = c.at(3, 2) == 0;
  const std::string prefix = std::string(kNames[c.at(2, 4)]).substr(0, 2);
  std::set<std::uint64_t> wanted;
  for (const auto& [id, e] : model_.exports) {
    const bool meant = e.current() || (ended && e.ended() && model_.is_held(id));
    if (meant && model_.may_see(e, who) && e.name.starts_with(prefix)) wanted.insert(id);
  }
  send(actor, ListRequest{0, prefix, ended}, {}, [this, wanted](const ReplyBody& body) {
    const auto& listed = std::get<Listed>(body);
    std::set<std::uint64_t> got;
    for (const ExportInfo& info : listed.exports) {
      got.insert(info.view.id.value);
      if (!model_.exports.contains(info.view.id.value)) return fail("a list of what is not there");
      check_info(info, model_.exports.at(info.view.id.value));
    }
    if (listed.next_cursor != 0 ? !std::includes(wanted.begin(), wanted.end(), got.begin(), got.end())
                                : got != wanted)
      fail("the list is not what the asker may see");
  });
}

void World::show(Actor& actor, const Command& c) {
  const Principal& who = who_is(actor);
  const NaiveAim target = aim(c, 2);
  const NaiveFound found = model_.look(who, target);
  if (found.status != HB_OK)
    return send(actor, ShowRequest{target.target, 0}, {}, judge_status(found.status));
  send(actor, ShowRequest{target.target, 0}, {}, [this, id = found.id, who](const ReplyBody& body) {
    const auto* out = std::get_if<Shown>(&body);
    if (out == nullptr) return fail("not shown: " + std::get<Error>(body).message);
    expect("shown", out->info.view.id.value, id);
    const NaiveExport& e = model_.exports.at(id);
    check_info(out->info, e);
    const bool chunks = e.holds_memory() || (e.ended() && model_.is_pinned(id));
    expect("shown chunks", out->chunks.size(), chunks ? e.chunks.size() : 0);
    const bool owner = who.admin || who.uid == e.uid;
    expect("shown acl", out->acl.size(), owner ? e.acl.size() : 0);
  });
}

void World::check_holder(const Holder& holder) {
  if (holder.ticket) {
    const NaiveTicket& ticket = model_.tickets.at(holder.ticket.value);
    expect("ticket's export", holder.exported.value, ticket.id);
    expect("ticket's maker", holder.session.uid, ticket.uid);
    expect("ticket's offset", holder.offset, ticket.offset);
    expect("ticket's length", holder.length, ticket.length);
    return expect("left of a ticket", holder.ticket_left_ns, ticket.deadline - now_);
  }
  const NaiveLease& lease = model_.leases.at(holder.lease.value);
  const NaiveSession& session = model_.sessions.at(lease.session);
  expect("holder's export", holder.exported.value, lease.id);
  expect("holder's session", holder.session.id.value, lease.session);
  expect("holder's uid", holder.session.uid, session.who.uid);
  expect("holder's access", static_cast<int>(holder.access), static_cast<int>(lease.access));
  expect("holder's level", static_cast<int>(holder.level), static_cast<int>(lease.level));
  expect("holder's offset", holder.offset, lease.offset);
  expect("holder's length", holder.length, lease.length);
  expect("holder listens", holder.listens, session.subscribed);
  expect("asked to unmap", holder.unmap_asked, lease.unmap_asked);
  expect("acknowledged step", holder.acked_step, lease.acked);
  expect("state of what is held", static_cast<int>(holder.state),
         static_cast<int>(model_.exports.at(lease.id).state));
  if (holder.unread_ns != 0 && model_.untold(lease.session).empty())
    fail("unread events where there are none");
}

void World::who(Actor& actor, const Command& c) {
  const Principal& me = who_is(actor);
  WhoRequest r;
  NaiveFound found;
  const bool all = c.at(3, 2) == 0;
  const NaiveAim target = aim(c, 2);
  if (!all) {
    r.target = target.target;
    found = model_.look(me, target);
    if (found.status != HB_OK) return send(actor, r, {}, judge_status(found.status));
  }
  std::set<std::uint64_t> wanted;
  // `uid` holds `exported`, in the scope of both.
  const auto is_told = [&](std::uint64_t exported, std::uint32_t uid) {
    const NaiveExport& e = model_.exports.at(exported);
    bool meant = all || exported == found.id;
    if (!meant && std::holds_alternative<NameRef>(r.target)) {  // all that bear or bore the name
      const NaiveExport& named = model_.exports.at(found.id);
      meant = e.scope == named.scope && e.uid == named.uid && e.name == named.name;
    }
    const bool mine = e.scope == me.scope.value && (e.uid == me.uid || uid == me.uid);
    return meant && (me.admin || mine);
  };
  for (const auto& [id, lease] : model_.leases)
    if (is_told(lease.id, model_.sessions.at(lease.session).who.uid)) wanted.insert(id);
  for (const auto& [id, ticket] : model_.tickets)
    if (ticket.stands && is_told(ticket.id, ticket.uid)) wanted.insert(ticket_mark(id));
  send(actor, r, {}, [this, wanted](const ReplyBody& body) {
    const auto* out = std::get_if<WhoListed>(&body);
    if (out == nullptr) return fail("who is refused: " + std::get<Error>(body).message);
    check_holders("who", out->holders, out->next_cursor != 0, wanted);
    if (failure_.empty())
      for (const Holder& holder : out->holders) check_holder(holder);
  });
}

}  // namespace hb::test
