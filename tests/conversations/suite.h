// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#pragma once

#include <string>

namespace hb::test {

// One of everything that the library asks a daemon for, by two clients of one process: always the same frames
// in the same order. Uses only what the oldest supported version of the library has. Throws what a call
// throws, and std::runtime_error where an answer is not what it should be.
void run_suite(const std::string& socket);

}  // namespace hb::test
