// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Groups: join, ready, collective append, leave.
#include <algorithm>

#include "model/world.h"
#include "model/world_cast.h"

namespace hb::test {

using namespace core;
using Phase = NaiveGroup::Phase;
using What = NaiveAnswer::What;

NaiveWait World::member_wait(const Actor& actor, std::uint64_t group, std::uint32_t rank,
                             std::uint64_t wait_ns) const {
  NaiveWait wait{NaiveWait::Kind::kMember, actor.session.value, actor.last_request + 1, deadline(wait_ns)};
  wait.group = group;
  wait.rank = rank;
  return wait;
}

void World::join(Actor& actor, const Command& c) {
  const Principal& who = who_is(actor);
  const std::uint64_t me = actor.session.value;
  JoinRequest r;
  r.name = kNames[1 + c.at(2, 2)];
  r.world = std::array{2u, 2u, 3u, 2u, 1u, 2u, 3u, 2u}[c.rest(2, 2) % 8];
  r.offer = ExportId{pick_export(actor, c.bytes[3])};
  r.agreement = c.at(4, 8) == 0 ? "other" : "";
  r.any_layout = c.rest(4, 8) % 4 != 0;
  r.access = c.at(5, 3) == 0 ? Access::kReadWrite : Access::kRead;
  r.max_handles = c.rest(5, 3) % 5;
  r.wait_ns = c.at(6, 8) == 0 ? 0 : (1 + c.bytes[6]) * kTick + 1;
  std::uint64_t number = model_.group_named(who.scope.value, who.uid, r.name);
  if (number != 0) {
    const NaiveGroup& group = model_.groups.at(number);
    if (c.rest(6, 8) % 8 != 0) r.world = model_.world_of(number);
    while (group.ranks.contains(r.rank)) ++r.rank;
    r.attempt = group.attempt;
    if (c.rest(6, 8) % 16 == 3) ++r.attempt;
    if (c.rest(6, 8) % 16 == 4 && r.attempt > 0) --r.attempt;
  }
  if (c.rest(6, 8) % 16 == 5) r.rank = c.at(7, 3);
  hb_status wanted = model_.own(me, r.offer.value);
  const bool older = number != 0 && r.attempt > model_.groups.at(number).attempt;
  if (wanted == HB_OK && number != 0 && !older) {
    const NaiveGroup& group = model_.groups.at(number);
    if (group.phase != Phase::kGathering || group.ranks.contains(r.rank) ||
        model_.rank_in(number, me) != UINT32_MAX)
      wanted = HB_EXISTS;
    if (r.attempt < group.attempt) wanted = HB_REPLACED;
  }
  if (r.rank >= r.world) wanted = HB_INVALID;
  if (who.admin) wanted = HB_DENIED;
  const bool founds = number == 0 || older;
  if (wanted == HB_OK && r.wait_ns == 0 && founds && r.world > 1) wanted = HB_TIMEOUT;
  if (wanted != HB_OK) return send(actor, r, {}, judge_status(wanted));
  if (older) model_.end_group(number, HB_REPLACED);
  if (founds) {
    number = model_.next_order();
    model_.groups[number] = {who.scope.value, who.uid, r.name, r.attempt};
  }
  model_.groups.at(number).ranks[r.rank] = {me,           r.world,  r.offer.value, r.agreement,
                                            r.any_layout, r.access, r.max_handles};
  if (model_.groups.at(number).ranks.size() >= model_.world_of(number)) return exchange(actor, r, number);
  if (r.wait_ns == 0) {
    const hb_status status = model_.timeout_status(number);
    model_.groups.at(number).ranks.erase(r.rank);
    return send(actor, r, {}, judge_status(status));
  }
  model_.waits.push_back(member_wait(actor, number, r.rank, r.wait_ns));
  send(actor, r, {}, {});
}

// All have come.
void World::exchange(Actor& actor, const JoinRequest& r, std::uint64_t number) {
  const hb_status status = model_.exchange_status(number);
  if (status != HB_OK) {
    model_.end_group(number, status);
    return send(actor, r, {}, judge_status(status));
  }
  for (auto& [rank, member] : model_.groups.at(number).ranks)
    for (std::size_t i = 1; i < model_.groups.at(number).ranks.size(); ++i)
      member.orders.push_back(model_.next_order());
  NaiveAnswer answer;
  answer.what = What::kJoined;
  model_.pass(number, Phase::kMapping, answer);
  answer.wait = member_wait(actor, number, r.rank, 0);
  send(actor, r, {}, judge_waited(answer));
}

void World::judge_joined(const Joined& got, const NaiveWait& wait) {
  NaiveGroup& group = model_.groups.at(wait.group);
  NaiveMember& self = group.ranks.at(wait.rank);
  if (group.id == 0) group.id = got.group.value;
  expect("group", got.group.value, group.id);
  if (got.members.size() != group.ranks.size()) return fail("a group of another size");
  const bool first_time = self.leases.empty();
  std::uint32_t handles = self.max_handles;
  std::size_t grants = 0;
  for (const auto& [rank, member] : group.ranks) {
    const Joined::Member& made = got.members.at(rank);
    expect("offer of a rank", made.exported.value, member.offer);
    expect("session of a rank", made.session.id.value, member.session);
    if (made.grant.has_value() == (rank == wait.rank))
      return fail("a grant for oneself, or none for another");
    if (!made.grant) continue;
    const NaiveExport& e = model_.exports.at(member.offer);
    Expected wanted{HB_OK, member.offer, 0, e.size(), made.grant->level, true};
    if (!first_time) wanted.length = model_.leases.at(self.leases.at(grants)).length;
    check_grant(*made.grant, wanted);
    const auto [begin, end] = e.chunks_of(0, wanted.length);
    if (handles == 0 ? !made.grant->page.chunks.empty() : made.grant->page.chunks.empty())
      fail("a page where no handle fits, or none where one does");
    if (handles != 0) check_page(made.grant->page, e, begin, end, handles, made.grant->level);
    handles -= static_cast<std::uint32_t>(made.grant->page.handles.size());
    if (first_time)
      note_lease(*made.grant, wait.session, wanted, self.access, self.orders.at(grants));
    else
      expect("lease of a rank", made.grant->lease.value, self.leases.at(grants));
    ++grants;
  }
  if (!first_time) return;
  for (const Joined::Member& made : got.members)
    if (made.grant) self.leases.push_back(made.grant->lease.value);
}

std::uint64_t World::pick_group(const Actor& actor, std::uint32_t which) const {
  std::vector<std::uint64_t> known;
  for (const std::uint64_t number : model_.groups_of(actor.session.value))
    if (model_.groups.at(number).id != 0) known.push_back(number);
  if (which % 8 != 0 && !known.empty()) return known[which / 8 % known.size()];
  known.clear();
  for (const auto& [number, group] : model_.groups)
    if (group.id != 0) known.push_back(number);
  return known.empty() ? 0 : known[which / 8 % known.size()];
}

// At the barrier: all pass now, or this one waits, or the group ends.
void World::arrive(Actor& actor, Request request, std::uint64_t number, std::uint64_t wait_ns,
                   Phase afterwards) {
  const std::uint32_t rank = model_.rank_in(number, actor.session.value);
  const bool waits = std::any_of(model_.waits.begin(), model_.waits.end(), [&](const NaiveWait& wait) {
    return wait.kind == NaiveWait::Kind::kMember && wait.group == number && wait.rank == rank;
  });
  if (waits) return send(actor, std::move(request), {}, judge_status(HB_BUSY));
  model_.arrive(number, rank);
  if (!model_.all_arrived(number)) {
    if (wait_ns != 0) {
      model_.waits.push_back(member_wait(actor, number, rank, wait_ns));
      return send(actor, std::move(request), {}, {});
    }
    model_.end_group(number, HB_TIMEOUT);
    return send(actor, std::move(request), {}, judge_status(HB_TIMEOUT));
  }
  NaiveAnswer answer;
  answer.what = afterwards == Phase::kOpen ? What::kReady : What::kAppended;
  if (afterwards == Phase::kMapping) {
    if (model_.layouts_differ(number)) {
      model_.end_group(number, HB_MISMATCH);
      return send(actor, std::move(request), {}, judge_status(HB_MISMATCH));
    }
    ++model_.groups.at(number).round;
    answer.versions = model_.versions_of(number);
  }
  model_.pass(number, afterwards, answer);
  answer.wait = member_wait(actor, number, rank, 0);
  send(actor, std::move(request), {}, judge_waited(answer));
}

void World::ready(Actor& actor, const Command& c) {
  const std::uint64_t number = pick_group(actor, c.bytes[2]);
  ReadyRequest r{GroupId{77}, 0, HB_OK, "", c.at(4, 8) == 0 ? 0 : (1 + c.bytes[4]) * kTick + 1};
  if (c.at(3, 16) == 0) r.status = HB_ADDRESS;
  if (number == 0) return send(actor, r, {}, judge_status(HB_NOT_HELD));
  const NaiveGroup& group = model_.groups.at(number);
  r.group = GroupId{group.id};
  r.round = group.round + (c.at(5, 8) == 0 ? 1 : 0);
  if (model_.rank_in(number, actor.session.value) == UINT32_MAX)
    return send(actor, r, {}, judge_status(HB_NOT_HELD));
  if (group.phase == Phase::kEnded) return send(actor, r, {}, judge_status(group.end));
  const bool maps = group.phase == Phase::kMapping && r.round == group.round;
  const bool appends = group.phase == Phase::kOpen && r.round == group.round + 1;
  if (r.status != HB_OK && (maps || appends)) {
    model_.end_group(number, r.status);
    return send(actor, r, {}, judge_status(r.status));
  }
  if (maps) return arrive(actor, r, number, r.wait_ns, Phase::kOpen);
  const bool mapped = r.status == HB_OK && group.phase == Phase::kOpen && r.round == group.round;
  send(actor, r, {}, judge_status(mapped ? HB_OK : HB_INVALID));
}

void World::group_append(Actor& actor, const Command& c) {
  const std::uint64_t number = pick_group(actor, c.bytes[2]);
  GroupAppendRequest r{GroupId{77}, 1, c.at(4, 8) == 0 ? 0 : (1 + c.bytes[4]) * kTick + 1};
  if (number == 0) return send(actor, r, {}, judge_status(HB_NOT_HELD));
  const NaiveGroup& group = model_.groups.at(number);
  r.group = GroupId{group.id};
  r.round = group.round + (c.at(5, 4) == 0 ? 0 : 1);
  if (model_.rank_in(number, actor.session.value) == UINT32_MAX)
    return send(actor, r, {}, judge_status(HB_NOT_HELD));
  if (group.phase == Phase::kEnded) return send(actor, r, {}, judge_status(group.end));
  if (group.phase == Phase::kOpen && r.round == group.round + 1)
    return arrive(actor, r, number, r.wait_ns, Phase::kMapping);
  if (group.phase != Phase::kMapping || r.round != group.round || r.round == 0)
    return send(actor, r, {}, judge_status(HB_INVALID));
  NaiveAnswer answer;
  answer.what = What::kAppended;
  answer.versions = model_.versions_of(number);
  answer.wait = member_wait(actor, number, 0, 0);
  send(actor, r, {}, judge_waited(answer));
}

void World::leave(Actor& actor, const Command& c) {
  const std::uint64_t number = pick_group(actor, c.bytes[2]);
  LeaveRequest r{GroupId{number == 0 ? 77 : model_.groups.at(number).id}};
  const bool member = number != 0 && model_.rank_in(number, actor.session.value) != UINT32_MAX;
  if (member) model_.leave_group(number, actor.session.value);
  send(actor, r, {}, judge_status(member ? HB_OK : HB_NOT_HELD));
}

}  // namespace hb::test
