// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "app/administration_quotas.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "observe/log.h"
#include "policy/set_quotas.h"
#include "wire/limits.h"
#include "wire/name.h"

namespace hb::app {
namespace {

using ipc::edge_error;

policy::Amounts amounts_of(const ipc::Amounts& limits) {
  policy::Amounts out;
  for (const auto& [resource, most] : limits) out.of(resource) = most;
  return out;
}

core::LimitSet total_of(const RuntimeState& state, const std::string& scope) {
  core::LimitSet total = core::LimitSet::unlimited();
  const auto fill = [&total](const ipc::Amounts& limits) {
    for (const auto& [resource, most] : limits) total.set(resource, most);
  };
  for (const StoredScope& stored : state.scopes)
    if (stored.name == scope) fill(stored.total);
  for (const StoredOverride& set : state.overrides)
    if (set.scope == scope && !set.uid && !set.gid) fill(set.limits);
  return total;
}

bool same_whom(const StoredOverride& a, const StoredOverride& b) {
  return a.scope == b.scope && a.uid == b.uid && a.gid == b.gid;
}

}  // namespace

tl::expected<ipc::QuotaWasSet, ipc::EdgeError> QuotaAdministration::set(ipc::QuotaSet wanted) {
  StoredOverride whose;
  whose.scope = wanted.scope.empty() ? std::string(policy::kMainScope) : std::move(wanted.scope);
  whose.uid = wanted.uid;
  whose.gid = wanted.gid;
  if (wanted.limits.empty() && !wanted.clear)
    return tl::unexpected(edge_error(HB_INVALID, "no limits are given, and nothing is to be cleared"));
  if (wanted.uid.value_or(0) > policy::kMostId || wanted.gid.value_or(0) > policy::kMostId)
    return tl::unexpected(edge_error(
        HB_INVALID, "4294967295 is no uid and no gid; ids are from 0 to " + std::to_string(policy::kMostId)));
  if (!parts_.engine.find_scope(whose.scope))
    return tl::unexpected(edge_error(HB_NOT_FOUND, "there is no scope \"" + escape_for_display(whose.scope) +
                                                       "\"; `hipbrokerctl scope ls` lists them"));
  if (whose.scope == policy::kMainScope && !whose.uid && !whose.gid)
    return tl::unexpected(edge_error(HB_INVALID,
                                     "the main scope as a whole is not limited; name a uid or a gid, or put "
                                     "[quota] into the policy file, for everybody"));

  std::vector<StoredOverride>& overrides = parts_.state.overrides;
  const std::vector<StoredOverride> before = overrides;
  auto found = std::find_if(overrides.begin(), overrides.end(),
                            [&whose](const StoredOverride& other) { return same_whom(other, whose); });
  if (found == overrides.end()) {
    if (overrides.size() >= limits::kPolicyRules)
      return tl::unexpected(
          ipc::over_limit("quotas set by hand", overrides.size() + 1, limits::kPolicyRules));
    found = overrides.insert(overrides.end(), whose);
  }
  if (wanted.clear) found->limits.clear();
  for (const auto& [resource, most] : wanted.limits) {
    std::erase_if(found->limits, [resource = resource](const auto& one) { return one.first == resource; });
    found->limits.emplace_back(resource, most);
  }
  const std::string text = found->limits.empty() ? "no limits of its own" : ipc::text_of(found->limits);
  if (found->limits.empty()) overrides.erase(found);

  if (const auto saved = save_runtime_state(parts_.state_file, parts_.state); !saved) {
    overrides = before;
    return tl::unexpected(
        edge_error(HB_SYSTEM, "nothing was set, the next daemon would not know of it: " + saved.error()));
  }
  const std::uint64_t sessions = put_into_effect(whose);
  observe::log(observe::Level::kInfo, "quota of " + ipc::text_of_whose(whose.scope, whose.uid, whose.gid) +
                                          " is set: " + text +
                                          "; live sessions: " + std::to_string(sessions));
  return ipc::QuotaWasSet{sessions};
}

std::uint64_t QuotaAdministration::put_into_effect(const StoredOverride& whose) {
  std::vector<policy::SetQuota> quotas;
  for (const StoredScope& scope : parts_.state.scopes) {
    quotas.push_back({scope.name, {}, {}, amounts_of(scope.each)});
    if (const auto id = parts_.engine.find_scope(scope.name))
      parts_.engine.set_scope_limits(*id, total_of(parts_.state, scope.name));
  }
  for (const StoredOverride& set : parts_.state.overrides)
    if (set.uid || set.gid) quotas.push_back({set.scope, set.uid, set.gid, amounts_of(set.limits)});
  const policy::SetQuota about{whose.scope, whose.uid, whose.gid, {}};
  return parts_.engine.set_quotas(policy::SetQuotas(std::move(quotas)),
                                  [&about](const policy::Who& who) { return about.fits(who); });
}

}  // namespace hb::app
