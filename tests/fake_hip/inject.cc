// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "inject.h"

#include <cstdlib>

namespace hb::fakehip {
namespace {

std::vector<std::string> fields(std::string_view text, char separator) {
  std::vector<std::string> out;
  for (;;) {
    const std::size_t end = text.find(separator);
    out.emplace_back(text.substr(0, end));
    if (end == std::string_view::npos) return out;
    text.remove_prefix(end + 1);
  }
}

std::optional<InjectHow> how_of(const std::string& word) {
  if (word == "skip") return InjectHow::kSkip;
  if (word == "done") return InjectHow::kDone;
  if (word == "late") return InjectHow::kLate;
  if (word == "partial") return InjectHow::kPartial;
  return std::nullopt;
}

}  // namespace

bool Injector::configure(std::string_view text) {
  std::vector<Rule> rules;
  std::string all(text);
  for (char& c : all)
    if (c == ',') c = ';';
  for (const std::string& entry : fields(all, ';')) {
    if (entry.empty()) continue;
    const std::vector<std::string> word = fields(entry, ':');
    Rule rule;
    rule.function = word[0];
    if (word.size() < 2 || word.size() > 4) return false;
    char* end = nullptr;
    rule.at = std::strtoll(word[1].c_str(), &end, 10);
    if (*end != '\0' || rule.at < 1) return false;
    if (word.size() > 2 && !word[2].empty()) {
      rule.what.code = static_cast<HipError>(std::strtol(word[2].c_str(), &end, 10));
      if (*end != '\0') return false;
    }
    if (word.size() > 3) {
      const auto how = how_of(word[3]);
      if (!how) return false;
      rule.what.how = *how;
    }
    rules.push_back(rule);
  }
  rules_ = std::move(rules);
  counts_.clear();
  all_ = 0;
  return true;
}

std::optional<Injected> Injector::count(std::string_view function) {
  ++all_;
  auto found = counts_.find(function);
  if (found == counts_.end()) found = counts_.emplace(function, 0).first;
  ++found->second;
  for (const Rule& rule : rules_)
    if ((rule.function == "any" && rule.at == all_) ||
        (rule.function == function && rule.at == found->second))
      return rule.what;
  return std::nullopt;
}

long long Injector::calls(std::string_view function) const {
  if (function.empty()) return all_;
  const auto found = counts_.find(function);
  return found == counts_.end() ? 0 : found->second;
}

}  // namespace hb::fakehip
