// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#pragma once

#include <span>
#include <string>

#include "hipbroker/hipbroker.h"
#include "json.h"
#include "table.h"

namespace hb::cli {

// What the looking verbs print, as pure functions of what the daemon answered.
[[nodiscard]] Table exports_table(std::span<const hb_listed* const> exports);
[[nodiscard]] Json exports_json(std::span<const hb_listed* const> exports, bool admin);

// `exports` give the holders' exports their names; one that is not among them is shown by its id.
[[nodiscard]] Table holders_table(std::span<const hb_held* const> holders,
                                  std::span<const hb_listed* const> exports);
[[nodiscard]] Json holders_json(std::span<const hb_held* const> holders,
                                std::span<const hb_listed* const> exports, bool admin);

struct Shown {
  const hb_listed* listed;
  std::span<const hb_acl_entry> acl;
  std::span<const hb_shown_chunk> chunks;
};
[[nodiscard]] std::string shown_text(const Shown& shown, std::size_t most_chunks, const TableStyle& style);
[[nodiscard]] Json shown_json(const Shown& shown, bool admin);

}  // namespace hb::cli
