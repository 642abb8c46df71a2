// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include <cerrno>
#include <cstdio>
#include <exception>

#include "app/daemon.h"
#include "app/options.h"
#include "wire/name.h"
#include "wire/sys_error.h"

namespace {

// Output that was not written is a failure: `hipbrokerd --check` must not look as if it had checked.
int write_out(const std::string& text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0) {
    return hb::app::kExitOk;
  }
  std::fprintf(stderr, "hipbrokerd: stdout: %s\n", hb::SysError::last("write").text().c_str());
  return hb::app::kExitLocal;
}

}  // namespace

int main(int argc, char** argv) try {
  const auto settings = hb::app::read_settings(argc, argv);
  if (!settings) {
    std::string text;
    for (const auto& line : settings.error().lines) text += line + '\n';
    if (settings.error().code == hb::app::kExitOk) return write_out(text);
    std::fputs(text.c_str(), stderr);
    return settings.error().code;
  }
  if (settings->check_only) {
    std::string text = settings->config_file.empty()
                           ? "no configuration file: defaults\n"
                           : hb::escape_for_display(settings->config_file) + ": ok\n";
    for (const auto& line : hb::app::describe(*settings->policy)) text += line + '\n';
    return write_out(text);
  }
  return hb::app::run_daemon(*settings);
} catch (const std::exception& error) {
  // One of the places where exceptions stop: no memory, no thread at start.
  std::fprintf(stderr, "hipbrokerd: %s\n", error.what());
  return hb::app::kExitLocal;
}
