// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "policy/selector.h"

#include <algorithm>

namespace hb::policy {
namespace {

bool holds(const std::vector<IdRange>& ranges, std::uint32_t id) {
  return std::any_of(ranges.begin(), ranges.end(),
                     [id](const IdRange& range) { return range.first <= id && id <= range.last; });
}

bool is_pattern(std::string_view scope) { return scope.ends_with('*'); }

bool scope_fits(std::string_view pattern, std::string_view scope) {
  if (!is_pattern(pattern)) return pattern == scope;
  pattern.remove_suffix(1);
  return scope.starts_with(pattern);
}

// Every scope that `inner` can mean.
bool scope_covers(std::string_view outer, std::string_view inner) {
  if (!is_pattern(inner)) return scope_fits(outer, inner);
  inner.remove_suffix(1);
  return is_pattern(outer) && scope_fits(outer, inner);
}

void put(std::string& out, const char* before, const std::vector<IdRange>& ranges) {
  if (ranges.empty()) return;
  if (!out.empty()) out += " of ";
  out += before;
  const char* between = " ";
  for (const IdRange& range : ranges) {
    out += between + std::to_string(range.first);
    if (range.first != range.last) out += "-" + std::to_string(range.last);
    between = ", ";
  }
}

}  // namespace

bool Selector::fits(const Who& who) const {
  if (!uids.empty() && !holds(uids, who.uid)) return false;
  if (!gids.empty() &&
      std::none_of(who.gids.begin(), who.gids.end(), [this](std::uint32_t gid) { return holds(gids, gid); }))
    return false;
  return scopes.empty() || std::any_of(scopes.begin(), scopes.end(), [&who](const std::string& pattern) {
           return scope_fits(pattern, who.scope);
         });
}

std::string Selector::text() const {
  std::string out;
  put(out, "uid", uids);
  put(out, "gid", gids);
  if (out.empty()) out = "everybody";
  const char* between = " in scope ";
  for (const std::string& scope : scopes) {
    out += between + scope;
    between = ", ";
  }
  return out;
}

bool Selector::may_mean(const IdRange& range) const {
  return uids.empty() || std::any_of(uids.begin(), uids.end(), [&range](const IdRange& own) {
           return own.first <= range.last && range.first <= own.last;
         });
}

bool Selector::covers_but_for_uids(const Selector& other) const {
  // A peer has several gids: it fits one of the inner ones, which is one of the outer.
  if (!gids.empty() && (other.gids.empty() || !covers(gids, other.gids))) return false;
  if (scopes.empty()) return true;
  const auto covered = [this](const std::string& inner) {
    return std::any_of(scopes.begin(), scopes.end(),
                       [&inner](const std::string& outer) { return scope_covers(outer, inner); });
  };
  // No scope said is every scope, as "*" is.
  return other.scopes.empty() ? covered("*") : std::all_of(other.scopes.begin(), other.scopes.end(), covered);
}

bool covers(std::vector<IdRange> outer, std::vector<IdRange> inner) {
  if (outer.empty()) return true;
  if (inner.empty()) inner.push_back({0, kMostId});
  const auto before = [](const IdRange& a, const IdRange& b) { return a.first < b.first; };
  std::sort(outer.begin(), outer.end(), before);
  return std::all_of(inner.begin(), inner.end(), [&outer](const IdRange& range) {
    std::uint64_t next = range.first;  // the least id that is not covered yet
    for (const IdRange& part : outer) {
      if (part.first <= next) next = std::max<std::uint64_t>(next, std::uint64_t{part.last} + 1);
    }
    return next > range.last;
  });
}

}  // namespace hb::policy
