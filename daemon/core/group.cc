// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// The meeting: ranks gather under a name; when the last has come, each gets leases on what all others offer,
// or all get the same refusal.
#include <algorithm>
#include <utility>

#include "core/access_rules.h"
#include "core/ending.h"
#include "core/failure.h"
#include "core/grant.h"
#include "core/group.h"
#include "core/lookup.h"
#include "core/quota.h"
#include "core/verbs.h"
#include "core/view.h"
#include "wire/limits.h"
#include "wire/name.h"

namespace hb::core {

namespace {

std::optional<Error> refuse_arguments(const Asker& asker, const JoinRequest& request) {
  const Principal& principal = asker.session.principal;
  if (principal.admin)
    return failure(HB_DENIED, "the admin socket shares nothing: join groups through the main socket");
  if (const auto valid = check_name(request.name); !valid)
    return failure(HB_INVALID, "name of the group: ", valid.error());
  if (request.world > limits::kGroupWorld)
    return over_bound("ranks of a group", request.world, limits::kGroupWorld, principal.uid);
  if (request.rank >= request.world)
    return failure(HB_INVALID, "rank ", request.rank, " of ", request.world,
                   " ranks: ranks count from 0 and are those of this node");
  if (request.access != Access::kRead && request.access != Access::kReadWrite)
    return failure(HB_INVALID, "access must be 1 (read) or 3 (read and write), not ",
                   static_cast<unsigned>(request.access));
  return std::nullopt;
}

// A rank gives memory away and takes that of others.
std::optional<Error> refuse_rights(const Core& core, const Principal& who) {
  for (const Verb verb : {Verb::kExport, Verb::kAcquire})
    if (auto refused = refuse_verb(core, who, verb)) return refused;
  return std::nullopt;
}

// Why this one cannot be there besides those that are.
std::optional<Error> refuse_place(const Core& core, const Asker& asker, const Group& group,
                                  const JoinRequest& request) {
  for (const auto& [rank, member] : group.ranks)
    if (rank != request.rank && member.session == asker.id.slot())
      return failure(HB_EXISTS, "this session is rank ", rank, " of ", group_text(group),
                     " already; one rank a session");
  const auto found = group.ranks.find(request.rank);
  if (found != group.ranks.end()) {
    Error error =
        failure(HB_EXISTS, group_text(group), ": rank ", request.rank, " is held by pid ",
                core.sessions.at(found->second.session).process->pid,
                ", whose session lives; a higher attempt than ", group.attempt, " ends the older meeting");
    error.who = rank_text(core, group, request.rank);
    return error;
  }
  if (group.phase == GroupPhase::kGathering) return std::nullopt;
  return failure(HB_EXISTS, group_text(group), " is complete: all its ", group.ranks.size(),
                 " ranks are there; a higher attempt than ", group.attempt, " ends it");
}

Error replaced(const Group& group, std::uint64_t older, std::uint64_t newer) {
  return failure(HB_REPLACED, group_text(group), ": attempt ", older, " is over, attempt ", newer,
                 " took its place");
}

// --- the exchange -------------------------------------------------------------------------------

// For one rank a lease on what another offers; or why not, for all.
tl::expected<LeaseId, Error> grant_member(Call& call, const Group& group, std::uint32_t rank,
                                          std::uint32_t other) {
  Core& core = call.core;
  const GroupMember& member = group.ranks.at(rank);
  const std::uint32_t slot = group.ranks.at(other).offer.slot();
  const Export& e = core.exports.at(slot);
  const auto refused = [&](std::uint32_t whose, Error error) {
    error.message = text(group_text(group), ": ", rank_text(core, group, whose), ": ", error.message);
    error.who = rank_text(core, group, whose);
    return tl::unexpected(std::move(error));
  };
  if (!can_be_acquired(e.state))
    return refused(other, failure(HB_SUSPENDED, "the export it offers is asleep; resume it before the join"));
  const Principal& who = core.sessions.at(member.session).principal;
  if (auto error = refuse_access(core, e, who, member.access)) return refused(other, std::move(*error));
  Terms terms;
  terms.range = {0, e.size(), 0, static_cast<std::uint32_t>(e.chunks.all().size())};
  terms.access = member.access;
  // All ranks are of one uid, which no reopened descriptor holds back: what is sealed is all there is.
  if (member.access == Access::kRead) terms.level = level_of(core, e, terms.range, who, {});
  terms.follows = true;
  auto lease = grant(call, core.sessions.id_of(member.session), slot, terms);
  return lease ? std::move(lease) : refused(rank, std::move(lease.error()));
}

std::optional<Error> grant_all(Call& call, Group& group) {
  std::optional<Error> refused;
  for (auto& [rank, member] : group.ranks) {
    for (const auto& [other, theirs] : group.ranks) {
      if (rank == other) continue;
      const auto lease = grant_member(call, group, rank, other);
      if (lease)
        member.leases.push_back(*lease);
      else
        refused = lease.error();
      if (refused) break;
    }
    if (refused) break;
  }
  if (!refused) return std::nullopt;
  for (auto& [rank, member] : group.ranks)
    for (const LeaseId lease : std::exchange(member.leases, {})) end_lease(call, lease.slot());
  return refused;
}

// The most bytes that one grant takes in a frame.
std::size_t bytes_of(const Acquired& grant) {
  constexpr std::size_t kFixed = 320;
  constexpr std::size_t kPeer = limits::kDeviceUuidBytes + limits::kDevicePciBytes + 16;
  constexpr std::size_t kChunk = 56;
  const ExportView& view = grant.exported;
  return kFixed + (view.name == nullptr ? 0 : view.name->size()) +
         (view.metadata == nullptr ? 0 : view.metadata->size()) +
         (view.peers == nullptr ? 0 : view.peers->size() * kPeer) + grant.page.chunks.size() * kChunk;
}

// Of a grant that does not fit any more the lease alone: a refresh tells the rest.
Acquired in_brief(const Acquired& whole) {
  Acquired brief;
  brief.lease = whole.lease;
  brief.exported.id = whole.exported.id;
  return brief;
}
constexpr std::size_t kBriefBytes = 96;  // of a member in a frame, and of what the frame begins with

Joined joined(Call& call, std::uint32_t slot, std::uint32_t asking) {
  Core& core = call.core;
  const Group& group = core.groups.at(slot);
  const GroupMember& self = group.ranks.at(asking);
  Joined out;
  out.group = core.groups.id_of(slot);
  out.members.reserve(group.ranks.size());
  std::size_t bytes = limits::kFrameBytes - (group.ranks.size() + 1) * kBriefBytes;
  std::size_t handles = std::min<std::size_t>(self.max_handles, limits::kFrameFds);
  auto lease = self.leases.begin();
  for (const auto& [rank, member] : group.ranks) {
    Joined::Member& made = out.members.emplace_back();
    made.exported = member.offer;
    made.session = session_info(core, member.session, call.now);
    if (rank == asking) continue;
    made.grant = describe_lease(core, *lease++, static_cast<std::uint32_t>(handles));
    if (bytes_of(*made.grant) > bytes) made.grant->page = {};
    if (bytes_of(*made.grant) > bytes) made.grant = in_brief(*made.grant);
    if (made.grant->chunk_count != 0) bytes -= bytes_of(*made.grant);
    handles -= made.grant->page.handles.size();
  }
  return out;
}

// The policy may have been read anew since they came.
std::optional<Error> refuse_ranks(const Core& core, const Group& group) {
  for (const auto& [rank, member] : group.ranks) {
    auto refused = refuse_rights(core, core.sessions.at(member.session).principal);
    if (!refused) continue;
    refused->message = text(group_text(group), ": ", rank_text(core, group, rank), ": ", refused->message);
    refused->who = rank_text(core, group, rank);
    return refused;
  }
  return std::nullopt;
}

// All have come: each gets all, or the same error.
ReplyBody exchange(Call& call, std::uint32_t slot, std::uint32_t asking) {
  Core& core = call.core;
  Group& group = core.groups.at(slot);
  std::optional<Error> refused = refuse_ranks(core, group);
  if (!refused) refused = mismatch_of(core, group);
  if (!refused) refused = grant_all(call, group);
  if (refused) {
    end_group(call, slot, *refused);
    return std::move(*refused);
  }
  group.phase = GroupPhase::kMapping;
  for (auto& [rank, member] : group.ranks) {
    if (rank == asking) continue;
    const Wait wait = take_wait(core, std::exchange(member.wait, kNoSlot));
    answer_wait(call, wait, joined(call, slot, rank));
  }
  return joined(call, slot, asking);
}

void take_place(Core& core, Asker& asker, std::uint32_t slot, const JoinRequest& request) {
  GroupMember member;
  member.session = asker.id.slot();
  member.world = request.world;
  member.max_handles = request.max_handles;
  member.offer = request.offer;
  member.agreement = request.agreement;
  member.access = request.access;
  member.any_layout = request.any_layout;
  core.groups.at(slot).ranks.emplace(request.rank, std::move(member));
  asker.session.groups.push_back({slot, request.rank});
}

}  // namespace

Outcome join(Call& call, Asker& asker, JoinRequest& request) {
  Core& core = call.core;
  const Principal& principal = asker.session.principal;
  if (auto refused = refuse_arguments(asker, request)) return std::move(*refused);
  if (auto refused = refuse_rights(core, principal)) return std::move(*refused);
  const auto offer = find_own(core, asker, request.offer);
  if (!offer) return offer.error();
  std::uint32_t slot = core.groups.find(principal.scope, principal.uid, request.name);
  bool ends_older = false;
  if (slot != kNoSlot) {
    const Group& group = core.groups.at(slot);
    if (request.attempt < group.attempt) return replaced(group, request.attempt, group.attempt);
    ends_older = request.attempt > group.attempt;
    if (!ends_older)
      if (auto refused = refuse_place(core, asker, group, request)) return std::move(*refused);
  }
  if (auto refused = charge(core, asker.session, Resource::kGroups)) return std::move(*refused);
  const bool founds = slot == kNoSlot || ends_older;
  // Who does not wait and would have to is never there: it ends nobody's meeting.
  if (request.wait_ns == 0 && founds && request.world > 1) {
    give_back(core, asker.session, Resource::kGroups);
    return failure(HB_TIMEOUT, "group \"", escape_for_display(request.name), "\": 1 of ", request.world,
                   " ranks is there, and the request does not wait");
  }
  if (ends_older) {
    const Group& older = core.groups.at(slot);
    const Error why = replaced(older, older.attempt, request.attempt);
    end_group(call, slot, why);
  }
  if (founds) slot = core.groups.create(principal.scope, principal.uid, request.name, request.attempt);
  take_place(core, asker, slot, request);
  const Group& group = core.groups.at(slot);
  if (group.ranks.size() >= world_of(group)) return exchange(call, slot, request.rank);
  if (request.wait_ns == 0) {
    Error error = timeout_of(core, group);
    drop_member(call, slot, request.rank);
    return error;
  }
  const auto wait =
      park(call, asker, MemberWait{core.groups.id_of(slot), request.rank}, request.wait_ns, true);
  if (!wait) {
    drop_member(call, slot, request.rank);
    return wait.error();
  }
  core.groups.at(slot).ranks.at(request.rank).wait = *wait;
  return {};
}

ReplyBody joined_again(Call& call, const Asker& asker, GroupId id) {
  const Group* group = call.core.groups.find(id);
  for (const Membership place : asker.session.groups) {
    if (group == nullptr || place.group != id.slot()) continue;
    if (group->phase == GroupPhase::kEnded) return group->end;
    for (const LeaseId granted : group->ranks.at(place.rank).leases) {
      const Lease* const lease = call.core.leases.find(granted);
      if (lease == nullptr)
        return failure(HB_NOT_HELD, "this join was answered before and a lease of it has been released");
      // Asleep there are no chunks to describe; others are not those that were granted.
      if (!lease->current)
        return failure(HB_STALE,
                       "this join was answered before and chunks of a rank have changed since; refresh the "
                       "leases, or leave the group");
    }
    return joined(call, place.group, place.rank);
  }
  return failure(HB_GONE, "this join was answered before and the group was left");
}

}  // namespace hb::core
