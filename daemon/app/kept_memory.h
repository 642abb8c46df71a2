// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// The memory that outlives the daemon: of the service manager's store, else files beside the admin socket
// where that lies in memory, else nothing that outlives it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/options.h"
#include "ipc/continuity.h"
#include "os/activation.h"
#include "restart/inbox.h"
#include "restart/node_memory.h"

namespace hb::app {

// Of what this daemon stores with the service manager.
[[nodiscard]] bool is_stored_name(std::string_view name);

struct KeptMemory {
  ipc::Continuity::Kept kept;
  restart::Inbox inbox;
  std::optional<restart::NodeMemory> locked;  // not used, and held against another daemon
  bool lost_records = false;                  // of this broker, all of them or some
  std::vector<std::string> lost;              // for the log: what was there and cannot be used
};

// Takes what it uses out of `stored`. Whatever is wrong with that leads to a line and to new memory; the
// error is another daemon that serves by the same memory. `limit`: the soft RLIMIT_NOFILE.
[[nodiscard]] tl::expected<KeptMemory, Exit> open_kept_memory(
    const Settings& settings, std::map<std::string, std::vector<UniqueFd>>& stored, std::uint64_t limit);

}  // namespace hb::app
