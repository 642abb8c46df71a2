// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Who holds memory, and why it has not come back.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "hipbroker/hipbroker.h"
#include "json.h"

namespace hb::cli {

// What is special about a holder, for a person: "has not read events for 12s"; "" where nothing is.
[[nodiscard]] std::string holder_note(const hb_held& held);

// An export and everybody who holds it.
struct Holding {
  const hb_listed* exported;
  std::vector<const hb_held*> holders;
};
// One for each export, largest first, also for those that nobody holds.
[[nodiscard]] std::vector<Holding> holdings_of(std::span<const hb_listed* const> exports,
                                               std::span<const hb_held* const> holders);

[[nodiscard]] std::string top_text(std::span<const Holding> holdings);
// "kv (id 7, orphaned), 64.0 MiB\nheld by: daemon (...); lease 12 pid 812 lmcache 3m12s; ..."
[[nodiscard]] std::string why_text(std::span<const Holding> holdings);
[[nodiscard]] Json holdings_json(std::span<const Holding> holdings, bool admin);

// A line for each of them, with all that tells one process from another.
[[nodiscard]] std::string holder_lines(std::span<const hb_held* const> holders);

}  // namespace hb::cli
