// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "policy/policy_toml.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "conf/file.h"
#include "conf/reader.h"
#include "policy/policy_reader.h"
#include "wire/limits.h"
#include "wire/name.h"

namespace hb::policy {
namespace {

using conf::Reader;

// The tables of an array, each with `use`; what is no table is complained of.
template <class Use>
void for_each_table(Reader& reader, const toml::table& parent, std::string_view key, std::string_view heading,
                    const Use& use) {
  const toml::node* node = parent.get(key);
  if (node == nullptr) return;
  const toml::array* list = node->as_array();
  if (list == nullptr) {
    reader.error(node->source(), std::string(key) + " is " + conf::type_name(*node) +
                                     ", expected tables, each under " + std::string(heading));
    return;
  }
  if (list->size() > limits::kPolicyRules) {
    reader.error(node->source(), "there are " + std::to_string(list->size()) + " of " + std::string(heading) +
                                     ", the limit is " + std::to_string(limits::kPolicyRules) +
                                     "; put several ids into one");
    return;
  }
  for (const toml::node& entry : *list) {
    if (const toml::table* table = entry.as_table()) {
      use(*table);
    } else {
      reader.error(entry.source(), std::string(key) + " holds " + conf::type_name(entry) +
                                       ", expected tables, each under " + std::string(heading));
    }
  }
}

struct PlacedRule {
  Rule rule;
  toml::source_region where;
};

void read_rule(Reader& reader, const toml::table& table, std::vector<PlacedRule>& out) {
  constexpr std::array<std::string_view, 5> kKeys{"allow", "deny", "uid", "gid", "scope"};
  reader.check_keys(table, "[rule]", kKeys);
  PlacedRule placed;
  placed.where = table.source();
  placed.rule.line = placed.where.begin.line;
  placed.rule.whom = read_selector(reader, table);
  const toml::node* allow = table.get("allow");
  const toml::node* deny = table.get("deny");
  if (allow != nullptr && deny != nullptr) {
    reader.error(deny->source(),
                 "this rule says allow and deny; make two rules of it, the first that fits decides");
  } else if (allow == nullptr && deny == nullptr) {
    reader.error(placed.where,
                 "this rule says neither allow nor deny; allow = [\"acquire\"] allows that verb");
  }
  if (allow != nullptr) placed.rule.verbs = read_verbs(reader, *allow, "allow");
  if (deny != nullptr) placed.rule.verbs = read_verbs(reader, *deny, "deny");
  placed.rule.allow = allow != nullptr;
  out.push_back(std::move(placed));
}

void warn_of_dead_rules(Reader& reader, const std::vector<PlacedRule>& placed,
                        const std::vector<Rule>& rules) {
  for (std::size_t i = 0; i < rules.size(); ++i) {
    const std::vector<const Rule*> before = covering(rules, i);
    if (before.empty()) continue;
    constexpr std::size_t kNamed = 4;
    std::string lines;
    for (std::size_t n = 0; n < std::min(before.size(), kNamed); ++n) {
      lines += (n == 0 ? "" : ", ") + std::to_string(before[n]->line);
    }
    if (before.size() > kNamed) lines += " and others";
    reader.warning(placed[i].where,
                   "this rule never decides: whoever it is about fits an earlier one (line " + lines +
                       ") first; put it before that, or remove it");
  }
  const bool allows = std::any_of(rules.begin(), rules.end(), [](const Rule& rule) { return rule.allow; });
  if (!allows) {
    toml::source_region start;
    start.begin = {1, 1};
    reader.warning(start,
                   "no rule allows anything, so nobody may do anything; [[rule]] with allow = "
                   "[\"export\", \"acquire\", \"list\", \"revoke\"] allows what is usual");
  }
}

void read_override(Reader& reader, const toml::table& table, std::vector<QuotaOverride>& out) {
  QuotaOverride one;
  one.line = table.source().begin.line;
  std::vector<std::string_view> known{"uid", "gid", "scope"};
  add_amount_keys(known);
  reader.check_keys(table, "[quota.override]", known);
  one.whom = read_selector(reader, table);
  const bool nobody = !table.contains("uid") && !table.contains("gid") && !table.contains("scope");
  if (nobody) {
    reader.error(table.source(),
                 "this override says neither uid, gid nor scope; what is for everybody belongs "
                 "under [quota]");
  }
  one.amounts = read_amounts(reader, table);
  if (one.amounts.empty() && std::none_of(known.begin() + 3, known.end(),
                                          [&table](std::string_view key) { return table.contains(key); })) {
    reader.error(table.source(), "this override sets nothing; say what it limits, such as exports = 8");
  }
  out.push_back(std::move(one));
}

QuotaRules read_quotas(Reader& reader, const toml::table& root) {
  const toml::table* quota = reader.table(root, "quota");
  if (quota == nullptr) return {};
  std::vector<std::string_view> known{"override"};
  add_amount_keys(known);
  reader.check_keys(*quota, "quota", known);
  std::vector<QuotaOverride> overrides;
  for_each_table(reader, *quota, "override", "[[quota.override]]",
                 [&](const toml::table& table) { read_override(reader, table, overrides); });
  return QuotaRules(read_amounts(reader, *quota), std::move(overrides));
}

}  // namespace

tl::expected<Loaded, conf::Errors> parse_policy(std::string_view text, const std::string& file) {
  Reader reader(file);
  const std::optional<toml::table> parsed = reader.parse(text);
  if (!parsed) return tl::unexpected(reader.take_errors());
  const toml::table& root = *parsed;
  constexpr std::array<std::string_view, 2> kTop{"rule", "quota"};
  reader.check_keys(root, "", kTop);
  std::vector<PlacedRule> placed;
  for_each_table(reader, root, "rule", "[[rule]]",
                 [&](const toml::table& table) { read_rule(reader, table, placed); });
  QuotaRules quotas = read_quotas(reader, root);
  if (reader.failed()) return tl::unexpected(reader.take_errors());
  std::vector<Rule> rules;
  rules.reserve(placed.size());
  for (const PlacedRule& one : placed) rules.push_back(one.rule);
  warn_of_dead_rules(reader, placed, rules);
  return Loaded{Policy(escape_for_display(file), std::move(rules), std::move(quotas)),
                reader.take_warnings()};
}

tl::expected<Loaded, conf::Errors> read_policy(const std::string& file) {
  const auto text = conf::read_file(file);
  if (!text) return tl::unexpected(text.error());
  return parse_policy(*text, file);
}

}  // namespace hb::policy
