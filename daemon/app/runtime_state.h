// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// What was set while the daemon ran and has to hold for the next one: scopes and quotas. No secret is in it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ipc/administration.h"
#include "wire/expected.h"

namespace hb::app {

struct StoredScope {
  std::string name;
  std::vector<std::uint32_t> uids;
  ipc::Amounts total;
  ipc::Amounts each;
  std::uint64_t id = 0;  // 0: it has none yet. What a daemon recorded of a scope goes by it
  bool operator==(const StoredScope&) const = default;
};

// By `quota set`. Neither uid nor gid: the total of the scope.
struct StoredOverride {
  std::string scope;
  std::optional<std::uint32_t> uid;
  std::optional<std::uint32_t> gid;
  ipc::Amounts limits;
  bool operator==(const StoredOverride&) const = default;
};

struct RuntimeState {
  std::vector<StoredScope> scopes;
  std::vector<StoredOverride> overrides;
  std::uint64_t last_scope = 0;  // no id above it was given out
  bool operator==(const RuntimeState&) const = default;
};

// Beside the admin socket, in a directory that nobody else can enter.
[[nodiscard]] std::string runtime_state_file(const std::string& admin_socket);

// A file that cannot be used is kept as FILE.broken; `errors` say what is wrong with it, each line with its
// position, and the state is empty. No file: nothing was set.
struct LoadedState {
  RuntimeState state;
  std::vector<std::string> errors;
};
[[nodiscard]] LoadedState load_runtime_state(const std::string& file);

// All of it or nothing: who reads finds the old state or the new one.
[[nodiscard]] tl::expected<void, std::string> save_runtime_state(const std::string& file,
                                                                 const RuntimeState& state);

}  // namespace hb::app
