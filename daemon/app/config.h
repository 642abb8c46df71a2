// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "conf/errors.h"
#include "observe/log.h"
#include "os/handle_probe.h"
#include "wire/expected.h"

namespace hb::app {

inline constexpr const char* kDefaultSocket = "/run/hipbroker/broker.sock";

// The leak check at the end of a sanitizer's build stops its own threads by ptrace.
#ifdef HIPBROKER_SANITIZED
inline constexpr bool kSandboxByDefault = false;
#else
inline constexpr bool kSandboxByDefault = true;
#endif

// What the configuration file may say. Not set = not said.
struct Config {
  std::optional<std::string> socket;
  std::optional<std::string> admin_socket;
  std::optional<std::string> policy;  // the policy file
  std::optional<observe::Level> log_level;
  std::optional<std::string> user;
  std::optional<bool> sandbox;
  std::optional<std::uint64_t> grace_ns;
  std::optional<std::uint64_t> ended_exports;         // [limits]
  std::optional<std::uint64_t> ended_export_seconds;  // [limits]
  std::vector<os::DriverRule> allow_driver;           // [handles]
};

using ConfigErrors = conf::Errors;

[[nodiscard]] tl::expected<Config, ConfigErrors> parse_config(std::string_view text, const std::string& file);
[[nodiscard]] tl::expected<Config, ConfigErrors> read_config(const std::string& file);

// "30s", "2m", "2min", "500ms"; at most an hour.
[[nodiscard]] std::optional<std::uint64_t> parse_grace(std::string_view text);
inline constexpr const char* kGraceForm = "a time of at most 1h as \"30s\", \"500ms\" or \"2m\"";

// "on" or "off"
[[nodiscard]] std::optional<bool> parse_switch(std::string_view text);

// "char 226:128" or "anon NAME"
[[nodiscard]] std::optional<os::DriverRule> parse_driver_rule(std::string_view text);

}  // namespace hb::app
