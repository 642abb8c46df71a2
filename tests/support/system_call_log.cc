// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "support/system_call_log.h"

#include <signal.h>

#include <filesystem>
#include <stdexcept>

namespace hb::test {
namespace {

bool traced(pid_t pid) {
  for (const auto& thread : std::filesystem::directory_iterator("/proc/" + std::to_string(pid) + "/task"))
    if (read_file(thread.path() / "status").find("\nTracerPid:\t0\n") != std::string::npos) return false;
  return true;
}

}  // namespace

SystemCallLog::SystemCallLog(pid_t pid, const std::string& calls) {
  strace_ = Process(
      {"/usr/bin/strace", "-f", "-qq", "-o", dir_ / "log", "-e", "trace=" + calls, "-p", std::to_string(pid)},
      {});
  if (!poll_until([pid] { return traced(pid); })) throw std::runtime_error("strace does not attach");
}

std::string SystemCallLog::stop() {
  strace_.signal(SIGTERM);
  if (!strace_.wait()) throw std::runtime_error("strace does not end");
  return read_file(dir_ / "log");
}

}  // namespace hb::test
