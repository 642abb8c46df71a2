// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Scopes: made, removed and told of while the daemon runs, and made again by the next one.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "app/runtime_state.h"
#include "core/ids.h"
#include "ipc/administration.h"
#include "ipc/scope.h"
#include "ipc/scope_directory.h"
#include "ipc/server.h"

namespace hb::app {

class ScopeAdministration {
 public:
  struct Parts {
    ipc::Engine& engine;
    ipc::Server& server;
    RuntimeState& state;
    std::string state_file;
    std::string base;  // the directory of the daemon's socket
  };
  explicit ScopeAdministration(Parts parts);
  // The sockets go; the directories stay for the next daemon.
  ~ScopeAdministration();
  ScopeAdministration(const ScopeAdministration&) = delete;
  ScopeAdministration& operator=(const ScopeAdministration&) = delete;

  // Those of the runtime state, in the directories where they were. One that cannot be made is logged and
  // stays in the state: what is in its way may be gone at the next start.
  void restore();

  [[nodiscard]] tl::expected<ipc::ScopeAdded, ipc::EdgeError> add(ipc::ScopeAdd wanted);
  // Ends what it holds first; the counts are of that.
  [[nodiscard]] tl::expected<ipc::ScopeRemoved, ipc::EdgeError> remove(const std::string& name);
  [[nodiscard]] ipc::ScopesListed list(std::uint64_t cursor) const;

 private:
  struct Made {
    std::shared_ptr<const ipc::Scope> scope;
    ipc::ScopeSocket socket;  // its descriptor is the listener's
    std::uint64_t since_ns = 0;
  };
  [[nodiscard]] tl::expected<void, ipc::EdgeError> make(const StoredScope& wanted);
  [[nodiscard]] tl::expected<void, std::string> save() const {
    return save_runtime_state(parts_.state_file, parts_.state);
  }
  [[nodiscard]] bool exists(const std::string& name) const;
  [[nodiscard]] bool forget(const std::string& name);  // in the state

  Parts parts_;
  ipc::ScopeDirectories directories_;
  std::map<core::ScopeId, Made> made_;
  std::uint64_t last_id_ = 0;
};

}  // namespace hb::app
