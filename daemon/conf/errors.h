// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#pragma once

#include <string>
#include <vector>

namespace hb::conf {

// Each is one line: "FILE:LINE:COLUMN: what is wrong; the way out". All of them at once, except that behind a
// syntax error nothing is read.
using Errors = std::vector<std::string>;

}  // namespace hb::conf
