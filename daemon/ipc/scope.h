// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// What a listening socket leads to: a name space, who may enter it, and whether with the admin's rights.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/ids.h"
#include "policy/selector.h"

namespace hb::ipc {

inline constexpr const char* kAdminScope = "admin";  // nobody's: it would read like the admin socket

struct Scope {
  core::ScopeId id;  // 0 is the main one's; none is used twice
  std::string name{policy::kMainScope};
  std::vector<std::uint32_t> uids;  // who may enter; empty = who reaches the socket

  [[nodiscard]] bool admits(std::uint32_t uid) const {
    return uids.empty() || std::find(uids.begin(), uids.end(), uid) != uids.end();
  }
  [[nodiscard]] static const std::shared_ptr<const Scope>& main() {
    static const auto kMain = std::make_shared<const Scope>();
    return kMain;
  }
};

struct Door {
  bool admin = false;
  std::shared_ptr<const Scope> scope = Scope::main();
};

// Whose share of the daemon's sockets and threads a connection uses. Where a uid is not let in, that of the
// uid outside all scopes: otherwise every scope that it knocks at would give it a share of its own.
struct Payer {
  core::ScopeId scope;
  std::uint32_t uid = 0;
  auto operator<=>(const Payer&) const = default;
};

[[nodiscard]] inline Payer payer_of(const Scope& scope, std::uint32_t uid) {
  return {scope.admits(uid) ? scope.id : core::ScopeId{}, uid};
}

}  // namespace hb::ipc
