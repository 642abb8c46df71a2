// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Quotas that are set while the daemon runs, and again by the next one: `quota set`, and the limits that a
// scope was made with.
#pragma once

#include <string>

#include "app/runtime_state.h"
#include "ipc/administration.h"
#include "ipc/engine.h"

namespace hb::app {

class QuotaAdministration {
 public:
  struct Parts {
    ipc::Engine& engine;
    RuntimeState& state;
    std::string state_file;
  };
  explicit QuotaAdministration(Parts parts) : parts_(std::move(parts)) {}

  [[nodiscard]] tl::expected<ipc::QuotaWasSet, ipc::EdgeError> set(ipc::QuotaSet wanted);
  // What the state says holds from now on: after the start, and when scopes came or went.
  void apply() { static_cast<void>(put_into_effect({})); }

 private:
  // Live sessions that `whose` is about.
  std::uint64_t put_into_effect(const StoredOverride& whose);

  Parts parts_;
};

}  // namespace hb::app
