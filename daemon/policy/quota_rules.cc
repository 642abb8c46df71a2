// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "policy/quota_rules.h"

#include <algorithm>
#include <utility>

namespace hb::policy {
namespace {

int breadth(const Selector& whom) { return !whom.uids.empty() ? 0 : !whom.gids.empty() ? 1 : 2; }

}  // namespace

bool Amounts::empty() const {
  return std::none_of(most.begin(), most.end(), [](const auto& one) { return one.has_value(); });
}

void Amounts::fill_into(core::LimitSet& limits) const {
  for (std::size_t i = 0; i < most.size(); ++i) {
    if (most[i]) limits.set(static_cast<core::Resource>(i), *most[i]);
  }
}

QuotaRules::QuotaRules(const Amounts& everybody, std::vector<QuotaOverride> overrides)
    : overrides_(std::move(overrides)) {
  std::stable_sort(overrides_.begin(), overrides_.end(), [](const QuotaOverride& a, const QuotaOverride& b) {
    return breadth(a.whom) < breadth(b.whom);
  });
  core::LimitSet limits = core::LimitSet::built_in();
  everybody.fill_into(limits);
  everybody_ = std::make_shared<core::LimitSet>(limits);
}

std::shared_ptr<const core::LimitSet> QuotaRules::limits_of(const Who& who) const {
  core::LimitSet limits = *everybody_;
  // The most specific is filled in last, over the others.
  bool own = false;
  for (auto one = overrides_.rbegin(); one != overrides_.rend(); ++one) {
    if (!one->whom.fits(who)) continue;
    one->amounts.fill_into(limits);
    own = true;
  }
  return own ? std::make_shared<const core::LimitSet>(limits) : everybody_;
}

}  // namespace hb::policy
