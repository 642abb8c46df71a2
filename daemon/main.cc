// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include <cstdio>
#include <exception>

#include "app/daemon.h"
#include "app/options.h"

int main(int argc, char** argv) try {
  const auto settings = hb::app::read_settings(argc, argv);
  if (!settings) {
    std::FILE* out = settings.error().code == hb::app::kExitOk ? stdout : stderr;
    for (const auto& line : settings.error().lines) std::fprintf(out, "%s\n", line.c_str());
    return settings.error().code;
  }
  if (settings->check_only) {
    std::printf("%s\n", settings->config_file.empty() ? "no configuration file: defaults"
                                                      : (settings->config_file + ": ok").c_str());
    return hb::app::kExitOk;
  }
  return hb::app::run_daemon(*settings);
} catch (const std::exception& error) {
  // One of the places where exceptions stop: no memory, no thread at start.
  std::fprintf(stderr, "hipbrokerd: %s\n", error.what());
  return hb::app::kExitLocal;
}
