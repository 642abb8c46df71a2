// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// How groups end: for all at once, with one error that names who.
#include <algorithm>
#include <utility>

#include "core/ending.h"
#include "core/failure.h"
#include "core/group.h"
#include "core/quota.h"
#include "core/verbs.h"
#include "wire/name.h"

namespace hb::core {

std::string rank_text(const Core& core, const Group& group, std::uint32_t rank) {
  const Session& session = core.sessions.at(group.ranks.at(rank).session);
  return text("rank ", rank, " (pid ", session.process->pid, ")");
}

std::string group_text(const Group& group) { return text("group \"", escape_for_display(group.name), "\""); }

void drop_member(Call& call, std::uint32_t slot, std::uint32_t rank) {
  Core& core = call.core;
  Group& group = core.groups.at(slot);
  Session& session = core.sessions.at(group.ranks.at(rank).session);
  std::erase(session.groups, Membership{slot, rank});
  give_back(core, session, Resource::kGroups);
  group.ranks.erase(rank);
  if (!group.ranks.empty()) return;
  if (group.phase != GroupPhase::kEnded) core.groups.end(slot, {});
  core.groups.erase(slot);
}

void end_group(Call& call, std::uint32_t slot, const Error& why) {
  Core& core = call.core;
  Group& group = core.groups.at(slot);
  const bool gathering = group.phase == GroupPhase::kGathering;
  core.groups.end(slot, why);
  std::vector<std::uint32_t> ranks;
  for (auto& [rank, member] : group.ranks) {
    ranks.push_back(rank);
    if (member.wait == kNoSlot) continue;
    const Wait wait = take_wait(core, std::exchange(member.wait, kNoSlot));
    if (!core.sessions.at(wait.session).ending) answer_wait(call, wait, why);
  }
  if (!gathering) return;
  for (const std::uint32_t rank : ranks) drop_member(call, slot, rank);
}

void expire_meeting(Call& call, MemberWait member) {
  const std::uint32_t slot = member.group.slot();
  end_group(call, slot, timeout_of(call.core, call.core.groups.at(slot)));
}

void cancel_member(Call& call, MemberWait member) {
  const std::uint32_t slot = member.group.slot();
  const Group& group = call.core.groups.at(slot);
  Error error = failure(HB_CANCELED, group_text(group), ": ", rank_text(call.core, group, member.rank),
                        " took its request back");
  error.who = rank_text(call.core, group, member.rank);
  end_group(call, slot, error);
}

namespace {

// GONE for those that are left: the rank, and what it did.
void end_by(Call& call, Membership place, std::string_view what) {
  const Group& group = call.core.groups.at(place.group);
  if (group.phase == GroupPhase::kEnded) return;
  Error error = failure(HB_GONE, group_text(group), ": ", rank_text(call.core, group, place.rank), " ", what);
  error.who = rank_text(call.core, group, place.rank);
  end_group(call, place.group, error);
}

// A meeting whose ranks were not all there has gone with its end: nothing is left to drop.
void drop_if_member(Call& call, const Session& session, Membership place) {
  if (std::find(session.groups.begin(), session.groups.end(), place) != session.groups.end())
    drop_member(call, place.group, place.rank);
}

}  // namespace

Outcome leave(Call& call, Asker& asker, const LeaveRequest& request) {
  for (const Membership place : asker.session.groups) {
    if (call.core.groups.id_of(place.group) != request.group) continue;
    end_by(call, place, "left the group");
    drop_if_member(call, asker.session, place);
    return failure(HB_OK);
  }
  return failure(HB_NOT_HELD, "group ", request.group.value, " was not joined by this session, or was left");
}

void leave_groups(Call& call, Session& session) {
  while (!session.groups.empty()) {
    const Membership place = session.groups.back();
    end_by(call, place, "died or closed its session");
    drop_if_member(call, session, place);
  }
}

void end_groups_of(Call& call, std::uint32_t export_slot, ExportState as) {
  Core& core = call.core;
  const Export& e = core.exports.at(export_slot);
  const std::vector<Membership> places = core.sessions.at(e.session).groups;  // a meeting takes itself out
  for (const Membership place : places)
    if (core.groups.at(place.group).ranks.at(place.rank).offer == core.exports.id_of(export_slot))
      end_by(call, place, text("ended the export it offers (", state_name(as), ")"));
}

}  // namespace hb::core
