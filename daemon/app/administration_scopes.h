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
#include "wire/unique_fd.h"

namespace hb::app {

class Restart;

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
  void restore(Restart& restart);
  // All that are made, to an engine that knows none.
  void add_all();
  // Null where there is none.
  [[nodiscard]] std::shared_ptr<const ipc::Scope> find(core::ScopeId scope) const;
  // Listening sockets outlive the daemon where it has a store: those that came from it are known again, then
  // the others are parked.
  void adopt_listeners();
  void park_listeners();
  // The next daemon goes on with them: nothing goes.
  void leave() { stay_ = true; }

  [[nodiscard]] tl::expected<ipc::ScopeAdded, ipc::EdgeError> add(ipc::ScopeAdd wanted);
  // Ends what it holds first; the counts are of that.
  [[nodiscard]] tl::expected<ipc::ScopeRemoved, ipc::EdgeError> remove(const std::string& name);
  [[nodiscard]] ipc::ScopesListed list(std::uint64_t cursor) const;

 private:
  struct Made {
    std::shared_ptr<const ipc::Scope> scope;
    ipc::ScopeSocket socket;  // its descriptor is the listener's
    BorrowedFd listening;
    bool came_back = false;
    core::LimitSet total = core::LimitSet::unlimited();
    std::uint64_t since_ns = 0;
  };
  // `listening` may be empty.
  [[nodiscard]] tl::expected<void, ipc::EdgeError> make(StoredScope& wanted, UniqueFd listening);
  void park(core::ScopeId id, const Made& made);
  [[nodiscard]] tl::expected<void, std::string> save() const {
    return save_runtime_state(parts_.state_file, parts_.state);
  }
  [[nodiscard]] bool exists(const std::string& name) const;
  [[nodiscard]] bool forget(const std::string& name);  // in the state

  Parts parts_;
  ipc::ScopeDirectories directories_;
  std::map<core::ScopeId, Made> made_;
  bool stay_ = false;
};

}  // namespace hb::app
