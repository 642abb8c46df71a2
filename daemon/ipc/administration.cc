// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "ipc/administration.h"

namespace hb::ipc {

std::string text_of(const Amounts& limits) {
  std::string out;
  for (const auto& [resource, most] : limits) {
    if (!out.empty()) out += ", ";
    out += std::string(core::text_of(resource).key) + " ";
    out += most == UINT64_MAX ? "unlimited" : std::to_string(most);
  }
  return out;
}

std::string text_of_whose(const std::string& scope, std::optional<std::uint32_t> uid,
                          std::optional<std::uint32_t> gid) {
  if (uid) return "uid " + std::to_string(*uid) + " in scope " + scope;
  if (gid) return "gid " + std::to_string(*gid) + " in scope " + scope;
  return "scope " + scope;
}

}  // namespace hb::ipc
