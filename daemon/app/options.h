// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/config.h"
#include "app/policy_source.h"
#include "observe/log.h"
#include "os/handle_probe.h"
#include "wire/expected.h"

namespace hb::app {

// The project's exit codes (docs): 0 ok, 64 usage or configuration, 71 local failure, 75 another daemon lives
// there.
inline constexpr int kExitOk = 0;
inline constexpr int kExitUsage = 64;
inline constexpr int kExitLocal = 71;
inline constexpr int kExitAnother = 75;

inline constexpr const char* kDefaultConfig = "/etc/hipbroker/hipbrokerd.toml";

// Command line over configuration file over default.
struct Settings {
  std::string socket;
  std::string admin_socket;
  observe::Level log_level = observe::Level::kInfo;
  std::uint64_t ended_exports = 0;    // 0 = the built-in limit
  std::uint64_t ended_export_ns = 0;  // 0 = the built-in limit
  std::vector<os::DriverRule> drivers;
  PolicySource policy_source;
  std::optional<policy::Loaded> policy;  // read from there; always, in what read_settings() gives
  std::string user;                      // whom to become, by name or number; "" = stay
  bool sandbox = kSandboxByDefault;
  bool personal = false;  // a user's own: --user without a name
  std::uint64_t grace_ns = 30'000'000'000;  // that exports wait for their owners after a restart
  bool check_only = false;
  std::string config_file;  // read; "" = none
};

// The process is to end now, with this code and these lines (stdout for code 0, else stderr).
struct Exit {
  int code = kExitOk;
  std::vector<std::string> lines;
};

[[nodiscard]] tl::expected<Settings, Exit> read_settings(int argc, const char* const* argv);

}  // namespace hb::app
