// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#pragma once

#include <string>

#include "connection.h"
#include "table.h"

namespace hb::cli {

// How a table looks where stdout leads: as wide as the terminal, uncut in a pipe.
[[nodiscard]] TableStyle style_of(const Options& options);

// For a person at a terminal who does not see everything, which view this is; "" otherwise.
[[nodiscard]] std::string view_note(const TableStyle& style, const Connection& connection);

}  // namespace hb::cli
