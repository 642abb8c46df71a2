// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "providers/hip/verdict.h"

namespace hb::client::hip {
namespace {

constexpr const char* kNames[kAbilities] = {"export",         "import",     "host_on_own",
                                            "host_on_import", "query_safe", "clean"};

std::string_view word(std::string_view& text) {
  const std::size_t end = text.find(' ');
  const std::string_view out = text.substr(0, end);
  text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
  return out;
}

}  // namespace

const char* ability_name(Ability ability) { return kNames[static_cast<std::size_t>(ability)]; }

void Findings::apply(Quirks& quirks) const {
  for (const auto& [quirk, value] : facts) quirks.overrule(quirk, value);
  if (of(Ability::kHostOnOwn).answer != Answer::kUnknown)
    quirks.overrule(Quirk::kGrantsHost, can(Ability::kHostOnOwn));
  if (of(Ability::kHostOnImport).answer != Answer::kUnknown)
    quirks.overrule(Quirk::kGrantsHostOnImport, can(Ability::kHostOnImport));
  if (of(Ability::kQuerySafe).answer != Answer::kUnknown)
    quirks.overrule(Quirk::kImportQueryCrashes, !can(Ability::kQuerySafe));
}

std::string Findings::text() const {
  std::string out;
  for (std::size_t i = 0; i < kAbilities; ++i) {
    if (abilities[i].answer == Answer::kYes) out += std::string("yes ") + kNames[i] + "\n";
    if (abilities[i].answer == Answer::kNo)
      out += std::string("no ") + kNames[i] + " " + abilities[i].reason + "\n";
    if (abilities[i].answer == Answer::kUnknown && !abilities[i].reason.empty())
      out += std::string("unknown ") + kNames[i] + " " + abilities[i].reason + "\n";
  }
  for (const QuirkRow& row : quirk_rows())
    if (const auto fact = facts.find(row.quirk); fact != facts.end())
      out += std::string("fact ") + row.name + (fact->second ? " 1\n" : " 0\n");
  return out;
}

bool Findings::take_line(std::string_view line) {
  const std::string_view kind = word(line);
  const std::string_view name = word(line);
  if (kind == "transient") return transient = true;
  if (kind == "yes" || kind == "no" || kind == "unknown") {
    for (std::size_t i = 0; i < kAbilities; ++i) {
      if (name != kNames[i]) continue;
      abilities[i].answer = kind == "yes" ? Answer::kYes : kind == "no" ? Answer::kNo : Answer::kUnknown;
      abilities[i].reason = line;
      return true;
    }
    return false;
  }
  if (kind != "fact") return false;
  for (const QuirkRow& row : quirk_rows()) {
    if (name != row.name) continue;
    facts[row.quirk] = line == "1";
    return true;
  }
  return false;
}

}  // namespace hb::client::hip
