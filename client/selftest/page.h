// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#pragma once

#include <string>

#include "lab.h"

namespace hb::selftest {

// One line of the page that gets pasted into an issue: on one line, without the home directory (a user's
// name), the host's name, or the serial numbers of GPUs.
[[nodiscard]] std::string public_line(const std::string& text);
// The same, of a machine described by the arguments: pure, for tests.
[[nodiscard]] std::string public_line(std::string text, const std::string& home, const std::string& host);

// Versions, kernel, GPUs, limits: lines that public_line() has passed.
[[nodiscard]] std::string about(const Lab& lab);

}  // namespace hb::selftest
