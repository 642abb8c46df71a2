// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Any text as policy.toml. Errors are lines with a place, and nothing of the text reaches a terminal raw; an
// accepted policy answers everybody, by a rule that fits, and no rule it warns of ever decides.
#include <string>

#include "policy/policy_toml.h"
#include "require.h"

namespace {

void require_lines(const hb::conf::Errors& lines) {
  for (const std::string& line : lines) {
    HB_REQUIRE(line.starts_with("f:"));
    for (const char byte : line) HB_REQUIRE(static_cast<unsigned char>(byte) >= 0x20 && byte != 0x7f);
  }
}

// "f:LINE:COLUMN: ..."
std::uint32_t line_of(const std::string& line) {
  return static_cast<std::uint32_t>(std::stoul(line.substr(2)));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using hb::policy::IdRange;
  const auto loaded = hb::policy::parse_policy({reinterpret_cast<const char*>(data), size}, "f");
  if (!loaded) {
    HB_REQUIRE(!loaded.error().empty());
    require_lines(loaded.error());
    return 0;
  }
  require_lines(loaded->warnings);
  const hb::policy::Policy& policy = loaded->policy;
  // Those at the edges of every range, and everybody else.
  std::vector<std::uint32_t> ids{0, 1000, hb::policy::kMostId};
  std::vector<std::string> scopes{"main", "x"};
  for (const auto& rule : policy.rules()) {
    for (const auto* ranges : {&rule.whom.uids, &rule.whom.gids}) {
      for (const IdRange& range : *ranges) {
        HB_REQUIRE(range.first <= range.last && range.last <= hb::policy::kMostId);
        if (ids.size() < 40)
          ids.insert(ids.end(), {range.first, range.last, range.last + (range.last < hb::policy::kMostId)});
      }
    }
    for (const std::string& scope : rule.whom.scopes)
      if (scopes.size() < 8) scopes.push_back(scope.substr(0, scope.find('*')));
  }
  for (const std::string& scope : scopes) {
    for (const std::uint32_t uid : ids) {
      for (const std::uint32_t gid : ids) {
        const std::uint32_t gids[] = {gid};
        const hb::policy::Who who{scope, uid, gids};
        HB_REQUIRE(policy.limits_of(who) != nullptr);
        for (const hb::core::Verb verb : hb::core::kVerbs) {
          const auto verdict = policy.verdict(who, verb);
          HB_REQUIRE(verdict.allowed == policy.rights_of(who).allows(verb));
          HB_REQUIRE(!policy.reason(verdict).empty());
          if (verdict.rule == nullptr) {
            HB_REQUIRE(!verdict.allowed);
            continue;
          }
          HB_REQUIRE(verdict.rule->whom.fits(who) && verdict.rule->verbs.allows(verb));
          const std::size_t which = static_cast<std::size_t>(verdict.rule - policy.rules().data());
          HB_REQUIRE(hb::policy::covering(policy.rules(), which).empty());
        }
      }
    }
  }
  for (const std::string& warning : loaded->warnings) HB_REQUIRE(line_of(warning) >= 1);
  return 0;
}
