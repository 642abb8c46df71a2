// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "scope_view.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "format.h"
#include "quota_view.h"

namespace hb::cli {
namespace {

std::string plural(std::uint64_t count, const char* noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

// "12.3G of 200G"; without a limit what is used.
std::string bytes_of(const hb_scope& scope) {
  for (const hb_use& use : std::span(scope.total, scope.total_count)) {
    if (!is_bytes(use.resource)) continue;
    const std::string used = amount_text(use.resource, use.used);
    return use.limit == HB_UNLIMITED ? used
                                     : fmt::format("{} of {}", used, amount_text(use.resource, use.limit));
  }
  return "0";
}

}  // namespace

std::string scope_added_text(const std::string& name, const std::string& directory,
                             std::span<const std::uint32_t> uids) {
  std::string out = fmt::format("scope {} is served in {}\n", safe(name.c_str()), safe(directory.c_str()));
  out += uids.empty() ? "whoever reaches that directory may connect; --uid names who may\n"
                      : fmt::format("uid {} may connect\n", fmt::join(uids, ", "));
  out += "mount the directory, not the socket: a daemon that starts anew makes a new socket in it\n";
  return out;
}

std::string scope_removed_text(const std::string& name, const hb_scope_removed& removed) {
  std::string out = fmt::format("scope {} is removed: {} disconnected, {} ended, {} let go\n",
                                safe(name.c_str()), plural(removed.sessions, "session"),
                                plural(removed.exports, "export"), format_bytes(removed.bytes));
  if (removed.tickets != 0 || removed.groups != 0)
    out += fmt::format("{} and {} ended with it\n", plural(removed.tickets, "ticket"),
                       plural(removed.groups, "group"));
  if (removed.exports != 0 || removed.sessions != 0)
    out += "what its processes have mapped they keep until they unmap it or end\n";
  return out;
}

Json scope_removed_json(const std::string& name, const hb_scope_removed& removed) {
  return {{"scope", name},
          {"sessions", removed.sessions},
          {"exports", removed.exports},
          {"tickets", removed.tickets},
          {"groups", removed.groups},
          {"bytes", removed.bytes}};
}

Table scopes_table(std::span<const hb_scope* const> scopes) {
  constexpr auto kRight = Column::Align::kRight;
  Table table({{"SCOPE", Column::Align::kLeft, 12, 0},
               {"UIDS", Column::Align::kLeft, 6, 0},
               {"SESSIONS", kRight},
               {"EXPORTS", kRight},
               {"BYTES", kRight},
               {"AGE", kRight, 0, 1},
               {"DIRECTORY", Column::Align::kLeft, 12, 0}});
  for (const hb_scope* scope : scopes) {
    const std::span<const std::uint32_t> uids(scope->uids, scope->uid_count);
    table.add({safe(scope->name), uids.empty() ? "any" : fmt::format("{}", fmt::join(uids, ",")),
               std::to_string(scope->sessions), std::to_string(scope->exports), bytes_of(*scope),
               format_age(scope->age_ns), safe(scope->directory)});
  }
  return table;
}

Json scopes_json(std::span<const hb_scope* const> scopes) {
  Json list = Json::array();
  for (const hb_scope* scope : scopes) {
    Json resources = Json::object();
    for (const hb_use& use : std::span(scope->total, scope->total_count))
      resources[use.resource] = {{"used", use.used},
                                 {"limit", use.limit == HB_UNLIMITED ? Json(nullptr) : Json(use.limit)}};
    list.push_back({{"scope", scope->name},
                    {"directory", scope->directory},
                    {"uids", std::vector<std::uint32_t>(scope->uids, scope->uids + scope->uid_count)},
                    {"sessions", scope->sessions},
                    {"exports", scope->exports},
                    {"age_ns", scope->age_ns},
                    {"resources", std::move(resources)}});
  }
  return {{"scopes", std::move(list)}};
}

}  // namespace hb::cli
