// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// The one gate of every charge: what a principal has opened or holds, against the cap. Charged before the
// thing is taken, given back when it is let go.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <unordered_map>

#include "core/effect.h"
#include "core/types.h"

namespace hb::core {

// What one session has open, by resource.
struct Charges {
  std::array<std::uint64_t, kResources> count{};
  [[nodiscard]] std::uint64_t of(Resource resource) const {
    return count[static_cast<std::size_t>(resource)];
  }
};

class Quota {
 public:
  // The refusal, or nothing: then it is charged.
  [[nodiscard]] std::optional<Error> charge_session(const Principal& principal);
  void give_back_session(const Principal& principal);

  [[nodiscard]] static std::optional<Error> charge(Resource resource, Charges& charges, std::uint32_t uid);
  static void give_back(Resource resource, Charges& charges) {
    --charges.count[static_cast<std::size_t>(resource)];
  }

  // Of the session, and of its uid for as long as the ticket stands: it may outlive its session.
  [[nodiscard]] std::optional<Error> charge_ticket(const Principal& principal, Charges& charges);
  void give_back_ticket(ScopeId scope, std::uint32_t uid, Charges* charges);
  [[nodiscard]] std::uint64_t tickets_of(ScopeId scope, std::uint32_t uid) const;

  [[nodiscard]] std::uint64_t sessions() const { return sessions_; }
  [[nodiscard]] std::uint64_t sessions_of(ScopeId scope, std::uint32_t uid) const;

 private:
  struct Who {
    ScopeId scope;
    std::uint32_t uid = 0;
    bool operator==(const Who&) const = default;
  };
  struct HashWho {
    std::size_t operator()(const Who& who) const noexcept {
      return static_cast<std::size_t>((who.scope.value ^ std::uint64_t{who.uid} << 32) *
                                      0x9e3779b97f4a7c15ull);
    }
  };
  struct Used {
    std::uint64_t sessions = 0;
    std::uint64_t tickets = 0;
  };
  void forget_if_idle(const Who& who);
  std::unordered_map<Who, Used, HashWho> by_who_;
  std::uint64_t sessions_ = 0;
};

}  // namespace hb::core
