// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// What trying the runtime out has shown, and its form as text: the helper writes it, the cache keeps it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "providers/hip/quirks.h"

namespace hb::client::hip {

enum class Ability : std::uint8_t {
  kExport,        // memory gives a descriptor of the right size
  kImport,        // a descriptor gives a mapping that shows the exporter's bytes
  kHostOnOwn,     // the CPU can be let in to own memory
  kHostOnImport,  // and to imported memory
  kQuerySafe,     // frameworks may ask the runtime about imported pointers
  kClean,         // everything given back leaves nothing open
  kCount,
};
inline constexpr std::size_t kAbilities = static_cast<std::size_t>(Ability::kCount);
[[nodiscard]] const char* ability_name(Ability ability);

enum class Answer : std::uint8_t { kUnknown, kYes, kNo };

struct Verdict {
  Answer answer = Answer::kUnknown;
  std::string reason;  // with kNo, and why it is unknown: for a user to act on
};

struct Findings {
  std::array<Verdict, kAbilities> abilities;
  std::map<Quirk, bool> facts;  // what was seen of the runtime's ways
  bool hung = false;            // the helper did not end
  bool transient = false;       // may be otherwise the next time: not to be remembered

  [[nodiscard]] Verdict& of(Ability ability) { return abilities[static_cast<std::size_t>(ability)]; }
  [[nodiscard]] const Verdict& of(Ability ability) const {
    return abilities[static_cast<std::size_t>(ability)];
  }
  [[nodiscard]] bool can(Ability ability) const { return of(ability).answer == Answer::kYes; }

  // Without these two nothing can be shared.
  [[nodiscard]] bool refuses() const {
    return of(Ability::kExport).answer == Answer::kNo || of(Ability::kImport).answer == Answer::kNo;
  }
  // Seen on this machine: overrules the table.
  void apply(Quirks& quirks) const;
  // Lines "yes NAME", "no NAME reason", "unknown NAME reason", "fact NAME 0|1".
  [[nodiscard]] std::string text() const;
  // One line of it, in or out. False: not such a line.
  bool take_line(std::string_view line);
};

}  // namespace hb::client::hip
