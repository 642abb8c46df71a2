// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// A role in a container: network, pid, ipc and mount namespaces of its own, another uid, and of the daemon's
// directories nothing but the one that is mounted. Needs root.
#pragma once

#include <cstdint>
#include <string>

#include "support/process.h"

namespace hb::test {

// Where it finds what was mounted: a directory of every Debian that is empty.
inline constexpr const char* kMountPoint = "/mnt";

struct Container {
  std::string mounted;  // the directory that appears at kMountPoint; "" = none
  std::string hidden;   // and the one that looks empty; "" = none
  std::uint32_t uid = 0;
  // Started instead of the role, words apart by blanks.
  std::string program;
};

// For a Process or an Actor of role "container", which then runs `role` inside.
[[nodiscard]] ProcessOptions options_of(const Container& container, const std::string& role = "actor");

}  // namespace hb::test
