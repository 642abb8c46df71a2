// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#pragma once

#include "app/policy_source.h"
#include "ipc/administration.h"
#include "ipc/engine.h"

namespace hb::app {

// The policy of a running daemon: read anew, and explained.
class PolicyAdministration {
 public:
  PolicyAdministration(ipc::Engine& engine, PolicySource source);

  // All or nothing; logged in either case. What exists stays.
  ipc::Reloaded reload();
  [[nodiscard]] tl::expected<ipc::PolicyChecked, ipc::EdgeError> check(const ipc::CheckPolicy& asked) const;

 private:
  ipc::Engine& engine_;
  PolicySource source_;
};

}  // namespace hb::app
