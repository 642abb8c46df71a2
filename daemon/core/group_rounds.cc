// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// What the ranks of a group do together once all are there: say how mapping went, and grow. Each is a barrier
// that all pass, or that ends the group with one error for all.
#include <algorithm>
#include <utility>

#include "core/ending.h"
#include "core/failure.h"
#include "core/group.h"
#include "core/verbs.h"

namespace hb::core {

namespace {

tl::expected<Membership, Error> find_member(const Core& core, const Asker& asker, GroupId id) {
  for (const Membership place : asker.session.groups)
    if (core.groups.id_of(place.group) == id) {
      const Group& group = core.groups.at(place.group);
      if (group.phase == GroupPhase::kEnded) return tl::unexpected(group.end);
      return place;
    }
  return tl::unexpected(failure(HB_NOT_HELD, "group ", id.value, " is not joined by this session"));
}

GroupAppended versions_of(const Core& core, const Group& group) {
  GroupAppended out;
  for (const auto& [rank, member] : group.ranks)
    out.layout_versions.push_back(core.exports.at(member.offer.slot()).layout_version);
  return out;
}

Error wrong_round(const Group& group, std::uint64_t round) {
  return failure(HB_INVALID, group_text(group), " is at round ", group.round,
                 group.phase == GroupPhase::kMapping ? ", which ranks still map" : ", which all have mapped",
                 "; the request is of round ", round);
}

// This rank has come to the barrier. `passed(group)` once all have: the answer for all, or an error.
template <class Passed>
Outcome arrive(Call& call, Asker& asker, Membership place, std::uint64_t wait_ns, Passed passed) {
  Core& core = call.core;
  Group& group = core.groups.at(place.group);
  GroupMember& self = group.ranks.at(place.rank);
  if (self.wait != kNoSlot)
    return failure(HB_BUSY, rank_text(core, group, place.rank), " waits for the others already");
  self.arrived = true;
  const bool all = std::all_of(group.ranks.begin(), group.ranks.end(),
                               [](const auto& entry) { return entry.second.arrived; });
  if (!all && wait_ns != 0) {
    const auto wait =
        park(call, asker, MemberWait{core.groups.id_of(place.group), place.rank}, wait_ns, false);
    if (wait) {
      self.wait = *wait;
      return {};
    }
    self.arrived = false;
    return wait.error();
  }
  ReplyBody body = all ? passed(group) : ReplyBody(timeout_of(core, group));
  if (const auto* error = std::get_if<Error>(&body)) {
    end_group(call, place.group, *error);
    return Outcome(core.groups.at(place.group).end);
  }
  for (auto& [rank, member] : group.ranks) {
    member.arrived = false;
    if (member.wait == kNoSlot) continue;
    const Wait wait = take_wait(core, std::exchange(member.wait, kNoSlot));
    answer_wait(call, wait, body);
  }
  Outcome outcome;
  outcome.body = std::move(body);
  return outcome;
}

}  // namespace

Outcome ready(Call& call, Asker& asker, ReadyRequest& request) {
  Core& core = call.core;
  const auto place = find_member(core, asker, request.group);
  if (!place) return place.error();
  Group& group = core.groups.at(place->group);
  const bool maps = group.phase == GroupPhase::kMapping && request.round == group.round;
  // It could not even append: those that wait for it are told.
  const bool cannot_append = group.phase == GroupPhase::kOpen && request.round == group.round + 1;
  if (request.status != HB_OK && (maps || cannot_append)) {
    Error error = failure(request.status, group_text(group), ": ", rank_text(core, group, place->rank), ": ",
                          request.message);
    error.who = rank_text(core, group, place->rank);
    end_group(call, place->group, error);
    return error;
  }
  if (maps)
    return arrive(call, asker, *place, request.wait_ns, [](Group& all) -> ReplyBody {
      all.phase = GroupPhase::kOpen;
      return GroupReady{};
    });
  // Asked of a round that all have mapped: the group is as it was.
  if (request.status == HB_OK && group.phase == GroupPhase::kOpen && request.round == group.round)
    return GroupReady{};
  return wrong_round(group, request.round);
}

Outcome group_append(Call& call, Asker& asker, const GroupAppendRequest& request) {
  Core& core = call.core;
  const auto place = find_member(core, asker, request.group);
  if (!place) return place.error();
  Group& group = core.groups.at(place->group);
  if (group.phase == GroupPhase::kOpen && request.round == group.round + 1)
    return arrive(call, asker, *place, request.wait_ns, [&core](Group& all) -> ReplyBody {
      if (auto refused = layout_mismatch_of(core, all)) return std::move(*refused);
      all.phase = GroupPhase::kMapping;
      ++all.round;
      return versions_of(core, all);
    });
  if (group.phase == GroupPhase::kMapping && request.round == group.round && request.round != 0)
    return versions_of(core, group);
  return wrong_round(group, request.round);
}

}  // namespace hb::core
