// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#pragma once

#include <string>
#include <vector>

namespace hb::selftest {

[[nodiscard]] std::string own_program();  // the file this program is
// Where a hipbrokerd is looked for: beside this program, in its installation, in its build tree, in PATH.
[[nodiscard]] std::vector<std::string> daemon_places(const std::string& program, const char* path);
// Throws Failed, naming every place.
[[nodiscard]] std::string find_daemon();

}  // namespace hb::selftest
