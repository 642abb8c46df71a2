// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// What a principal may do at all, by the node's policy. The access list of an export comes on top.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace hb::core {

enum class Verb : std::uint8_t { kExport, kAcquire, kList, kPersist, kRevoke };
inline constexpr std::array kVerbs{Verb::kExport, Verb::kAcquire, Verb::kList, Verb::kPersist, Verb::kRevoke};

[[nodiscard]] constexpr std::string_view verb_name(Verb verb) {
  switch (verb) {
    case Verb::kExport:
      return "export";
    case Verb::kAcquire:
      return "acquire";
    case Verb::kList:
      return "list";
    case Verb::kPersist:
      return "persist";
    case Verb::kRevoke:
      return "revoke";
  }
  return "unknown";
}

class Rights {
 public:
  constexpr Rights() = default;
  [[nodiscard]] static constexpr Rights none() { return Rights(); }
  [[nodiscard]] static constexpr Rights all() {
    Rights rights;
    for (const Verb verb : kVerbs) rights = rights.with(verb);
    return rights;
  }
  // Without a policy: all but memory that nobody's end gives back.
  [[nodiscard]] static constexpr Rights usual() { return all().without(Verb::kPersist); }

  [[nodiscard]] constexpr bool allows(Verb verb) const { return (bits_ & bit(verb)) != 0; }
  [[nodiscard]] constexpr Rights with(Verb verb) const { return Rights(bits_ | bit(verb)); }
  [[nodiscard]] constexpr Rights without(Verb verb) const { return Rights(bits_ & ~bit(verb)); }
  bool operator==(const Rights&) const = default;

 private:
  constexpr explicit Rights(unsigned bits) : bits_(static_cast<std::uint8_t>(bits)) {}
  [[nodiscard]] static constexpr unsigned bit(Verb verb) { return 1u << static_cast<unsigned>(verb); }
  std::uint8_t bits_ = 0;
};

}  // namespace hb::core
