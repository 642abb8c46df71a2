// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Ranks that meet: all get all, or the same error.
#include <algorithm>

#include "model/naive_model.h"

namespace hb::test {

using namespace core;
using Phase = NaiveGroup::Phase;

std::uint64_t NaiveModel::group_named(std::uint64_t scope, std::uint32_t uid, const std::string& name) const {
  for (const auto& [number, group] : groups)
    if (group.phase != Phase::kEnded && group.scope == scope && group.uid == uid && group.name == name)
      return number;
  return 0;
}

std::vector<std::uint64_t> NaiveModel::groups_of(std::uint64_t session) const {
  std::vector<std::uint64_t> out;
  for (const auto& [number, group] : groups)
    for (const auto& [rank, member] : group.ranks)
      if (member.session == session) out.push_back(number);
  return out;
}

std::uint32_t NaiveModel::rank_in(std::uint64_t number, std::uint64_t session) const {
  for (const auto& [rank, member] : groups.at(number).ranks)
    if (member.session == session) return rank;
  return UINT32_MAX;
}

// What most ranks say; where as many say another, the one of the lowest rank.
std::uint32_t NaiveModel::world_of(std::uint64_t number) const {
  std::vector<std::pair<std::uint32_t, std::size_t>> said;
  for (const auto& [rank, member] : groups.at(number).ranks) {
    const auto found = std::find_if(said.begin(), said.end(),
                                    [&, world = member.world](const auto& s) { return s.first == world; });
    if (found == said.end())
      said.emplace_back(member.world, 1);
    else
      ++found->second;
  }
  std::pair<std::uint32_t, std::size_t> most;
  for (const auto& one : said)
    if (one.second > most.second) most = one;
  return most.first;
}

bool NaiveModel::worlds_differ(std::uint64_t number) const {
  const auto& ranks = groups.at(number).ranks;
  return std::any_of(ranks.begin(), ranks.end(),
                     [&](const auto& r) { return r.second.world != ranks.begin()->second.world; });
}

bool NaiveModel::layouts_differ(std::uint64_t number) const {
  const auto sizes = [&](const NaiveMember& member) {
    std::vector<std::uint64_t> out;
    const NaiveExport& e = exports.at(member.offer);
    for (const NaiveChunk& chunk : e.chunks)
      if (!e.asleep()) out.push_back(chunk.size);
    return out;
  };
  const auto& ranks = groups.at(number).ranks;
  if (std::all_of(ranks.begin(), ranks.end(), [](const auto& r) { return r.second.any_layout; }))
    return false;
  return std::any_of(ranks.begin(), ranks.end(),
                     [&](const auto& r) { return sizes(r.second) != sizes(ranks.begin()->second); });
}

// HB_OK: every rank can have what every other offers.
hb_status NaiveModel::exchange_status(std::uint64_t number) const {
  const auto& ranks = groups.at(number).ranks;
  const auto& first = ranks.begin()->second;
  for (const auto& [rank, member] : ranks) {
    const Rights rights = sessions.at(member.session).who.rights;
    if (!rights.allows(Verb::kExport) || !rights.allows(Verb::kAcquire)) return HB_DENIED;
  }
  if (worlds_differ(number)) return HB_MISMATCH;
  for (const auto& [rank, member] : ranks)
    if (member.agreement != first.agreement) return HB_MISMATCH;
  if (layouts_differ(number)) return HB_MISMATCH;
  for (const auto& [rank, member] : ranks)
    for (const auto& [other, theirs] : ranks) {
      if (rank == other) continue;
      const NaiveExport& e = exports.at(theirs.offer);
      if (e.asleep()) return HB_SUSPENDED;
      if (member.access > e.access) return HB_READ_ONLY;
    }
  return HB_OK;
}

hb_status NaiveModel::timeout_status(std::uint64_t number) const {
  const bool gathering = groups.at(number).phase == Phase::kGathering;
  return gathering && worlds_differ(number) ? HB_MISMATCH : HB_TIMEOUT;
}

void NaiveModel::answer_members(std::uint64_t number, const NaiveAnswer& answer) {
  for (std::size_t i = 0; i < waits.size();) {
    if (waits[i].kind != NaiveWait::Kind::kMember || waits[i].group != number) {
      ++i;
      continue;
    }
    NaiveAnswer own = answer;
    own.wait = waits[i];
    waits.erase(waits.begin() + static_cast<std::ptrdiff_t>(i));
    if (own.wait.session != leaving_) answers.push_back(std::move(own));
  }
}

void NaiveModel::end_group(std::uint64_t number, hb_status status) {
  NaiveGroup& group = groups.at(number);
  const bool gathering = group.phase == Phase::kGathering;
  group.phase = Phase::kEnded;
  group.end = status;
  NaiveAnswer answer;
  answer.status = status;
  answer_members(number, answer);
  if (gathering) groups.erase(number);
}

void NaiveModel::leave_group(std::uint64_t number, std::uint64_t session) {
  if (groups.at(number).phase != Phase::kEnded) end_group(number, HB_GONE);
  const auto left = groups.find(number);
  if (left == groups.end()) return;
  left->second.ranks.erase(rank_in(number, session));
  if (left->second.ranks.empty()) groups.erase(number);
}

void NaiveModel::arrive(std::uint64_t number, std::uint32_t rank) {
  groups.at(number).ranks.at(rank).arrived = true;
}

bool NaiveModel::all_arrived(std::uint64_t number) const {
  const auto& ranks = groups.at(number).ranks;
  return std::all_of(ranks.begin(), ranks.end(), [](const auto& r) { return r.second.arrived; });
}

// All are at the barrier: it opens, with this answer for all.
void NaiveModel::pass(std::uint64_t number, Phase phase, const NaiveAnswer& answer) {
  NaiveGroup& group = groups.at(number);
  group.phase = phase;
  for (auto& [rank, member] : group.ranks) member.arrived = false;
  answer_members(number, answer);
}

std::vector<std::uint64_t> NaiveModel::versions_of(std::uint64_t number) const {
  std::vector<std::uint64_t> out;
  for (const auto& [rank, member] : groups.at(number).ranks)
    out.push_back(exports.at(member.offer).layout_version);
  return out;
}

}  // namespace hb::test
