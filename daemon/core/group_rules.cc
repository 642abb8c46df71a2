// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// What the ranks of a group have to agree on, and how it is said that they do not. The value that most ranks
// have is taken for the right one, so that the odd rank is the one that is named.
#include <algorithm>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "core/failure.h"
#include "core/group.h"
#include "wire/name.h"

namespace hb::core {

namespace {

constexpr std::size_t kRanksNamed = 16;  // in one sentence
// Values told apart before those left over count as one: ranks that agree on nothing must not cost more than
// a few comparisons each.
constexpr std::size_t kValuesTold = 8;

struct Vote {
  std::uint32_t rank = 0;  // the lowest that has this value
  std::size_t count = 0;
};

// By value, in the order of their lowest ranks. `same` compares two ranks.
template <class Same>
std::vector<Vote> votes_of(const Group& group, Same same) {
  std::vector<Vote> votes;
  for (const auto& [rank, member] : group.ranks) {
    const auto found = std::find_if(votes.begin(), votes.end(), [&, &one = member](const Vote& vote) {
      return same(group.ranks.at(vote.rank), one);
    });
    if (found != votes.end())
      ++found->count;
    else if (votes.size() < kValuesTold)
      votes.push_back({rank, 1});
  }
  return votes;
}

Vote majority(const std::vector<Vote>& votes) {
  return *std::max_element(votes.begin(), votes.end(),
                           [](const Vote& a, const Vote& b) { return a.count < b.count; });
}

struct Pair {
  std::uint32_t odd = 0;
  std::uint32_t usual = 0;
};
template <class Same>
std::optional<Pair> odd_one(const Group& group, Same same) {
  const std::vector<Vote> votes = votes_of(group, same);
  if (votes.size() < 2) return std::nullopt;
  const Vote usual = majority(votes);
  return Pair{votes[votes[0].rank == usual.rank ? 1 : 0].rank, usual.rank};
}

template <class Describe>
Error mismatch(const Core& core, const Group& group, Pair pair, std::string_view what, std::uint64_t odd,
               std::uint64_t usual, Describe describe) {
  Error error =
      failure(HB_MISMATCH, group_text(group), ": ", rank_text(core, group, pair.odd), " ", describe(pair.odd),
              ", ", rank_text(core, group, pair.usual), " ", describe(pair.usual));
  error.what = what;
  error.used = odd;
  error.limit = usual;
  error.who = rank_text(core, group, pair.odd);
  return error;
}

// Of bytes that the caller chose, as much as a sentence bears.
std::string shown(std::string_view bytes) {
  constexpr std::size_t kShown = 64;
  return text("\"", escape_for_display(bytes.substr(0, kShown)), "\"",
              bytes.size() > kShown ? text(" and ", bytes.size() - kShown, " bytes more") : std::string());
}

const Export& offer_of(const Core& core, const GroupMember& member) {
  return core.exports.at(member.offer.slot());
}
std::span<const Chunk> chunks_of(const Core& core, const GroupMember& member) {
  return offer_of(core, member).chunks.all();
}
bool same_sizes(std::span<const Chunk> a, std::span<const Chunk> b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const Chunk& left, const Chunk& right) { return left.size == right.size; });
}

std::optional<Error> size_mismatch(const Core& core, const Group& group, Pair pair) {
  const GroupMember& odd = group.ranks.at(pair.odd);
  const GroupMember& usual = group.ranks.at(pair.usual);
  const auto bytes_of = [&](std::uint32_t rank) { return offer_of(core, group.ranks.at(rank)).size(); };
  const auto mine = chunks_of(core, odd);
  const auto theirs = chunks_of(core, usual);
  if (mine.size() != theirs.size())
    return mismatch(core, group, pair, "chunks", mine.size(), theirs.size(), [&](std::uint32_t rank) {
      return text("offers ", bytes_of(rank), " bytes in ", chunks_of(core, group.ranks.at(rank)).size(),
                  " chunks");
    });
  std::size_t chunk = 0;
  while (mine[chunk].size == theirs[chunk].size) ++chunk;
  return mismatch(core, group, pair, "bytes", mine[chunk].size, theirs[chunk].size, [&](std::uint32_t rank) {
    return text("offers ", chunks_of(core, group.ranks.at(rank))[chunk].size, " bytes as chunk ", chunk, " (",
                bytes_of(rank), " in all)");
  });
}

}  // namespace

std::uint32_t world_of(const Group& group) {
  const auto votes =
      votes_of(group, [](const GroupMember& a, const GroupMember& b) { return a.world == b.world; });
  return group.ranks.at(majority(votes).rank).world;
}

std::optional<Error> layout_mismatch_of(const Core& core, const Group& group) {
  const bool any = std::all_of(group.ranks.begin(), group.ranks.end(),
                               [](const auto& entry) { return entry.second.any_layout; });
  if (any) return std::nullopt;
  const auto pair = odd_one(group, [&](const GroupMember& a, const GroupMember& b) {
    return same_sizes(chunks_of(core, a), chunks_of(core, b));
  });
  return pair ? size_mismatch(core, group, *pair) : std::nullopt;
}

std::optional<Error> mismatch_of(const Core& core, const Group& group) {
  const auto member = [&](std::uint32_t rank) -> const GroupMember& { return group.ranks.at(rank); };
  if (const auto pair =
          odd_one(group, [](const GroupMember& a, const GroupMember& b) { return a.world == b.world; }))
    return mismatch(core, group, *pair, "world", member(pair->odd).world, member(pair->usual).world,
                    [&](std::uint32_t rank) { return text("says ", member(rank).world, " ranks"); });
  if (const auto pair = odd_one(
          group, [](const GroupMember& a, const GroupMember& b) { return a.agreement == b.agreement; }))
    return mismatch(core, group, *pair, "agreement", member(pair->odd).agreement.size(),
                    member(pair->usual).agreement.size(),
                    [&](std::uint32_t rank) { return text("agrees to ", shown(member(rank).agreement)); });
  const auto kind = [&](std::uint32_t rank) { return offer_of(core, member(rank)).kind; };
  if (const auto pair = odd_one(group, [&](const GroupMember& a, const GroupMember& b) {
        return offer_of(core, a).kind == offer_of(core, b).kind;
      }))
    return mismatch(core, group, *pair, "handle kind", static_cast<std::uint64_t>(kind(pair->odd)),
                    static_cast<std::uint64_t>(kind(pair->usual)), [&](std::uint32_t rank) {
                      return text("offers handles of kind ", kind_name(kind(rank)));
                    });
  return layout_mismatch_of(core, group);
}

Error timeout_of(const Core& core, const Group& group) {
  const bool gathering = group.phase == GroupPhase::kGathering;
  if (gathering)
    if (const auto pair =
            odd_one(group, [](const GroupMember& a, const GroupMember& b) { return a.world == b.world; }))
      return *mismatch_of(core, group);
  const std::uint32_t world = gathering ? world_of(group) : static_cast<std::uint32_t>(group.ranks.size());
  std::string missing;
  std::uint64_t count = 0;
  for (std::uint32_t rank = 0; rank < world; ++rank) {
    const auto found = group.ranks.find(rank);
    if (found != group.ranks.end() && (gathering || found->second.arrived)) continue;
    if (++count > kRanksNamed) continue;
    missing += count == 1 ? "" : ", ";
    missing += gathering ? text("rank ", rank) : rank_text(core, group, rank);
  }
  if (count > kRanksNamed) missing += text(" and ", count - kRanksNamed, " more");
  Error error = failure(HB_TIMEOUT, group_text(group), ": ", world - count, " of ", world, " ranks ",
                        gathering ? "came" : "reported", " before the deadline; missing: ", missing);
  error.what = "ranks";
  error.used = world - count;
  error.limit = world;
  error.who = missing;
  return error;
}

}  // namespace hb::core
