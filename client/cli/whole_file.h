// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#pragma once

#include <string>

namespace hb::cli {

// Whoever reads the file finds the old text or all of the new one. Readable by everybody. Throws Failure.
void write_whole_file(const std::string& path, const std::string& text);

}  // namespace hb::cli
