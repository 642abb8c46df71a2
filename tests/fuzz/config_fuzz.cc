// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Any text as hipbrokerd.toml. Errors are lines with a place, and nothing of the text reaches a terminal raw;
// what is accepted lies within its bounds.
#include <string>

#include "app/config.h"
#include "app/socket_rule.h"
#include "require.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const auto config = hb::app::parse_config({reinterpret_cast<const char*>(data), size}, "f");
  if (!config) {
    HB_REQUIRE(!config.error().empty());
    for (const std::string& line : config.error()) {
      HB_REQUIRE(line.starts_with("f:"));
      for (const char byte : line) HB_REQUIRE(static_cast<unsigned char>(byte) >= 0x20 && byte != 0x7f);
    }
    return 0;
  }
  if (config->socket) HB_REQUIRE(!hb::app::fault_of_socket_path(*config->socket));
  if (config->admin_socket) HB_REQUIRE(!hb::app::fault_of_socket_path(*config->admin_socket));
  if (config->policy)
    HB_REQUIRE(config->policy->starts_with('/') && config->policy->find('\0') == std::string::npos);
  if (config->ended_exports) HB_REQUIRE(*config->ended_exports > 0);
  if (config->ended_export_seconds) HB_REQUIRE(*config->ended_export_seconds > 0);
  return 0;
}
