// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "policy/policy.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace hb::policy {

std::string Rule::text() const {
  std::string out = allow ? "allow" : "deny";
  const char* between = " ";
  for (const core::Verb verb : core::kVerbs) {
    if (!verbs.allows(verb)) continue;
    out += between + std::string(core::verb_name(verb));
    between = ", ";
  }
  return out + " for " + whom.text();
}

Policy Policy::built_in() {
  Rule rule;
  rule.allow = true;
  rule.verbs = core::Rights::usual();
  return Policy("", {std::move(rule)}, QuotaRules());
}

Policy::Policy(std::string file, std::vector<Rule> rules, QuotaRules quotas)
    : file_(std::move(file)), rules_(std::move(rules)), quotas_(std::move(quotas)) {}

Verdict Policy::verdict(const Who& who, core::Verb verb) const {
  for (const Rule& rule : rules_) {
    if (rule.verbs.allows(verb) && rule.whom.fits(who)) return {rule.allow, &rule};
  }
  return {};
}

core::Rights Policy::rights_of(const Who& who) const {
  core::Rights rights = core::Rights::none();
  for (const core::Verb verb : core::kVerbs) {
    if (verdict(who, verb).allowed) rights = rights.with(verb);
  }
  return rights;
}

std::string Policy::reason(const Verdict& verdict) const {
  if (verdict.rule == nullptr) {
    return file_.empty() ? "no rule of the built-in policy allows it" : "no rule of " + file_ + " fits";
  }
  const std::string where =
      file_.empty() ? "built-in policy" : file_ + ":" + std::to_string(verdict.rule->line);
  return where + ": " + verdict.rule->text();
}

std::vector<const Rule*> covering(const std::vector<Rule>& rules, std::size_t which) {
  std::vector<const Rule*> found;
  const Rule& rule = rules[which];
  for (const core::Verb verb : core::kVerbs) {
    if (!rule.verbs.allows(verb)) continue;
    std::vector<const Rule*> before;
    std::vector<IdRange> uids;
    bool every_uid = false;
    for (std::size_t i = 0; i < which && !every_uid; ++i) {
      if (!rules[i].verbs.allows(verb) || !rules[i].whom.covers_but_for_uids(rule.whom)) continue;
      every_uid = rules[i].whom.uids.empty();
      const std::size_t known = uids.size();
      // Most rules are about other uids: what is looked through stays short.
      std::copy_if(rules[i].whom.uids.begin(), rules[i].whom.uids.end(), std::back_inserter(uids),
                   [&rule](const IdRange& range) { return rule.whom.may_mean(range); });
      if (every_uid || uids.size() != known) before.push_back(&rules[i]);
    }
    if (every_uid) uids.clear();
    if (before.empty() || !covers(std::move(uids), rule.whom.uids)) return {};
    found.insert(found.end(), before.begin(), before.end());
  }
  std::sort(found.begin(), found.end());  // rules lie in one array
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

}  // namespace hb::policy
