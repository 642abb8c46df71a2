// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// What makes a hipbrokerd of the tests end itself between two steps of an event. $HB_CRASH_FILE names a file;
// while it says "POINT N", the N-th passing of that point since it said so is the end. Without it nothing
// happens.
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <string>
#include <string_view>

#include "restart/crash_point.h"
#include "wire/unique_fd.h"

namespace hb::restart {
namespace {

std::string wanted(const char* file) {
  const UniqueFd fd(::open(file, O_RDONLY | O_CLOEXEC));
  std::array<char, 64> text{};
  const ssize_t bytes = fd ? ::read(fd.get(), text.data(), text.size()) : 0;
  return {text.data(), bytes > 0 ? static_cast<std::size_t>(bytes) : 0};
}

}  // namespace

void crash_point(CrashPoint point) {
  static const char* const kFile = std::getenv("HB_CRASH_FILE");
  static std::string said;
  static int passings = 0;
  if (kFile == nullptr) return;
  const std::string now = wanted(kFile);
  if (now != said) {
    said = now;
    passings = 0;
  }
  const std::string_view name = kCrashPointNames[static_cast<std::size_t>(point)];
  if (now.size() < name.size() + 2 || now.compare(0, name.size(), name) != 0 || now[name.size()] != ' ') return;
  if (++passings == std::atoi(now.c_str() + name.size())) ::kill(::getpid(), SIGKILL);
}

}  // namespace hb::restart
