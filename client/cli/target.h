// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "hipbroker/hipbroker.h"

namespace hb::cli {

// Which export a verb is about, as hb_show() and hb_who() take it.
struct Target {
  std::string name;  // empty: by id
  std::uint32_t owner_uid = HB_OWN_UID;
  std::uint64_t export_id = 0;
  std::optional<hb_key> key;  // whose id it is

  [[nodiscard]] const char* name_or_null() const { return name.empty() ? nullptr : name.c_str(); }
};

class Connection;
// Of a target by key: is it a key of this daemon, and of what the id stands for now? Throws Failure.
void check_key(const Connection& connection, const Target& target);

// What a person types: NAME, UID:NAME, a key's text, or an id by option. With `owner` given the name is taken
// as it stands, colons and all. Throws Failure.
[[nodiscard]] Target parse_target(const std::string& text, std::optional<std::uint32_t> owner,
                                  std::optional<std::uint64_t> id);

}  // namespace hb::cli
