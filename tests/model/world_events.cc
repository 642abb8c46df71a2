// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Events and steps.
#include <algorithm>
#include <utility>

#include "model/world.h"
#include "model/world_cast.h"
#include "wire/limits.h"

namespace hb::test {

using namespace core;
using Kind = NaiveWait::Kind;

void World::subscribe(Actor& actor) {
  model_.subscribe(actor.session.value);
  send(actor, SubscribeRequest{}, {}, [this](const ReplyBody& body) {
    if (!std::holds_alternative<Subscribed>(body)) fail("not subscribed");
  });
}

void World::take_events(Actor& actor, const Command& c) {
  const TakeEventsRequest r{c.at(2, 4) == 0 ? 1 + c.at(3, 12) : 0};
  const std::uint64_t me = actor.session.value;
  send(actor, r, {}, [this, r, me, news = model_.untold(me)](const ReplyBody& body) {
    const auto& got = std::get<EventsTaken>(body);
    std::size_t at = 0;
    std::size_t groups = 0;
    const bool lost = std::exchange(model_.sessions.at(me).lost, false);
    if (lost) {
      if (got.events.empty() || got.events.front().kind != EventKind::kLost)
        return fail("the loss of events is not told");
      at = 1;
    }
    for (; groups < news.size() && at < got.events.size(); ++groups) {
      for (const Event& wanted : news[groups]) {
        if (at == got.events.size()) return fail("news of one lease are told in two parts");
        const Event& event = got.events[at++];
        expect("kind of event", static_cast<int>(event.kind), static_cast<int>(wanted.kind));
        expect("lease of event", event.lease.value, wanted.lease.value);
        expect("export of event", event.exported.value, wanted.exported.value);
        expect("generation of event", event.generation, wanted.generation);
        expect("layout version of event", event.layout_version, wanted.layout_version);
        expect("size of event", event.size, wanted.size);
        if (event.chunks != wanted.chunks) fail("an event about other chunks");
      }
    }
    if (at != got.events.size()) fail("an event of what did not happen");
    // The news of one lease, which are at most four, come together.
    const std::size_t most = std::max<std::size_t>(r.max_events == 0 ? limits::kEventsPage : r.max_events, 4);
    if (got.events.size() > std::max<std::size_t>(most, lost ? 5 : 0)) fail("more events than asked for");
    if (groups == 0 && !news.empty() && !lost) fail("no event where there are some");
    if (got.more != (groups < news.size())) fail("more events, or not");
    model_.told(me, groups);
  });
}

void World::publish(Actor& actor, const Command& c) {
  const std::uint64_t id = pick_export(actor, c.bytes[2]);
  PublishRequest r{ExportId{id}, c.at(3, 3)};
  if (model_.exports.contains(id)) r.step += model_.exports.at(id).step;
  hb_status wanted = model_.own(actor.session.value, id);
  if (wanted == HB_OK && r.step <= model_.exports.at(id).step) wanted = HB_INVALID;
  if (wanted == HB_OK) model_.publish(id, r.step);
  send(actor, r, {}, judge_status(wanted));
}

void World::wait_step(Actor& actor, const Command& c) {
  const std::uint64_t id = pick_lease(actor, c.bytes[2]);
  WaitStepRequest r{LeaseId{id}, c.at(3, 3), c.at(4, 3) == 0 ? 0 : (1 + c.bytes[5]) * kTick + 1};
  const auto lease = model_.leases.find(id);
  if (lease == model_.leases.end() || lease->second.session != actor.session.value)
    return send(actor, r, {}, judge_status(HB_NOT_HELD));
  const NaiveExport& e = model_.exports.at(lease->second.id);
  if (e.ended()) return send(actor, r, {}, judge_status(model_.status_of_end(e)));
  r.step += e.step;
  if (r.step > e.step && r.wait_ns == 0) return send(actor, r, {}, judge_status(HB_TIMEOUT));
  NaiveWait wait{Kind::kStep};
  wait.id = lease->second.id;
  wait.step = r.step;
  wait.lease = id;
  drain(actor, r, wait, r.wait_ns);
}

void World::ack_step(Actor& actor, const Command& c) {
  const std::uint64_t id = pick_lease(actor, c.bytes[2]);
  AckStepRequest r{LeaseId{id}, c.at(3, 8) == 0 ? 1u : 0u};
  const auto lease = model_.leases.find(id);
  if (lease == model_.leases.end() || lease->second.session != actor.session.value)
    return send(actor, r, {}, judge_status(HB_NOT_HELD));
  const std::uint64_t published = model_.exports.at(lease->second.id).step;
  r.step += published;
  if (c.at(3, 8) == 1 && r.step > 0) --r.step;
  if (r.step > published) return send(actor, r, {}, judge_status(HB_INVALID));
  model_.ack(id, r.step);
  send(actor, r, {}, judge_status(HB_OK));
}

void World::wait_acks(Actor& actor, const Command& c) {
  const std::uint64_t id = pick_export(actor, c.bytes[2]);
  WaitAcksRequest r{ExportId{id}, 0, c.at(4, 3) == 0 ? 0 : (1 + c.bytes[5]) * kTick + 1};
  const hb_status own = model_.own(actor.session.value, id);
  if (own != HB_OK) return send(actor, r, {}, judge_status(own));
  const std::uint64_t published = model_.exports.at(id).step;
  r.step = published;
  if (c.at(3, 8) == 0) ++r.step;
  if (c.at(3, 8) == 1 && r.step > 0) --r.step;
  if (r.step > published) return send(actor, r, {}, judge_status(HB_INVALID));
  NaiveWait wait{Kind::kAcks};
  wait.id = id;
  wait.step = r.step;
  drain(actor, r, wait, r.wait_ns);
}

}  // namespace hb::test
