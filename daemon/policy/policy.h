// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// What the node lets whom do: rules over verbs, and quotas. A value: a reload makes another one. The access
// list of an export comes on top, the owner's own uid needs the rules as everybody does.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/rights.h"
#include "policy/quota_rules.h"
#include "policy/selector.h"

namespace hb::policy {

struct Rule {
  bool allow = false;
  core::Rights verbs;
  Selector whom;
  std::uint32_t line = 0;  // 0 = built in

  // "allow export, acquire for uid 1001 in scope job-*"
  [[nodiscard]] std::string text() const;
};

// Whether a verb is allowed, and the rule that decided.
struct Verdict {
  bool allowed = false;
  const Rule* rule = nullptr;  // of the policy that was asked; none = no rule fits, which denies
};

class Policy {
 public:
  // Without a file: everybody may what is usual, within the built-in limits.
  [[nodiscard]] static Policy built_in();
  Policy(std::string file, std::vector<Rule> rules, QuotaRules quotas);

  // The first rule that is about the verb and fits decides.
  [[nodiscard]] Verdict verdict(const Who& who, core::Verb verb) const;
  [[nodiscard]] core::Rights rights_of(const Who& who) const;
  [[nodiscard]] std::shared_ptr<const core::LimitSet> limits_of(const Who& who) const {
    return quotas_.limits_of(who);
  }
  // "FILE:LINE: the rule", for people.
  [[nodiscard]] std::string reason(const Verdict& verdict) const;

  [[nodiscard]] const std::string& file() const { return file_; }  // "" = built in
  [[nodiscard]] const std::vector<Rule>& rules() const { return rules_; }
  [[nodiscard]] std::size_t overrides() const { return quotas_.overrides(); }

 private:
  std::string file_;  // escaped for people
  std::vector<Rule> rules_;
  QuotaRules quotas_;
};

// The rules before `which` that leave it nothing to decide; empty = it has something to decide. Found where
// each verb of it is covered by rules that are as wide in gids and scopes, and together in uids.
[[nodiscard]] std::vector<const Rule*> covering(const std::vector<Rule>& rules, std::size_t which);

}  // namespace hb::policy
