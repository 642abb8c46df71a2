// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// A start that goes on where another daemon ended: what it left is read, checked against what was recorded,
// and handed to those whose it is. Nothing of it can keep the daemon from starting.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/record_set.h"
#include "ipc/engine.h"
#include "ipc/server.h"
#include "restart/parking.h"
#include "restart/record_codec.h"

namespace hb::app {

class ScopeAdministration;

class Restart {
 public:
  // Reads it all. `stored` and `surplus`: what is left of what the service manager handed over.
  Restart(ipc::Continuity& continuity, std::map<std::string, std::vector<UniqueFd>> stored,
          std::vector<UniqueFd> surplus);

  // The listening socket of a scope; empty where none was left.
  [[nodiscard]] UniqueFd take_listener(core::ScopeId scope);

  struct Parts {
    ipc::Engine& engine;
    ipc::Server& server;
    ScopeAdministration& scopes;
    core::Time grace_ns = 0;
  };
  // After the scopes are made, and before anything is served. One line for the log; empty at a first start.
  [[nodiscard]] std::string take_over(const Parts& parts);

 private:
  void restore(const Parts& parts);
  void resume_sessions(const Parts& parts);
  void close_rest(ipc::Engine& engine);
  [[nodiscard]] UniqueFd take(const restart::ParkedEntry& entry);

  ipc::Continuity& continuity_;
  restart::ReadRecords records_;
  core::record::Floors floors_;
  std::vector<restart::Restored> parked_;
  std::unordered_map<restart::ParkedEntry, std::size_t, restart::ParkedEntryHash> place_;  // in parked_
  std::vector<UniqueFd> surplus_;
  std::vector<core::ScopeId> unknown_scopes_;
  std::vector<core::Broker::Restored> lost_;   // sessions without a connection
  std::vector<core::Broker::Restored> ended_;  // whose process died, or that end with a daemon
  std::size_t resumed_ = 0;
};

}  // namespace hb::app
