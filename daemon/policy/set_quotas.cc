// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "policy/set_quotas.h"

#include <algorithm>
#include <utility>

namespace hb::policy {
namespace {

int breadth(const SetQuota& quota) { return quota.uid ? 0 : quota.gid ? 1 : 2; }

}  // namespace

bool SetQuota::fits(const Who& who) const {
  if (scope != who.scope) return false;
  if (uid) return *uid == who.uid;
  return !gid || std::find(who.gids.begin(), who.gids.end(), *gid) != who.gids.end();
}

SetQuotas::SetQuotas(std::vector<SetQuota> quotas) : quotas_(std::move(quotas)) {
  std::stable_sort(quotas_.begin(), quotas_.end(),
                   [](const SetQuota& a, const SetQuota& b) { return breadth(a) < breadth(b); });
}

bool SetQuotas::concerns(const Who& who) const {
  return std::any_of(quotas_.begin(), quotas_.end(),
                     [&who](const SetQuota& quota) { return quota.fits(who); });
}

void SetQuotas::fill_into(core::LimitSet& limits, const Who& who) const {
  for (auto quota = quotas_.rbegin(); quota != quotas_.rend(); ++quota)
    if (quota->fits(who)) quota->amounts.fill_into(limits);
}

}  // namespace hb::policy
