// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "quota_view.h"

#include <fmt/format.h>

#include "format.h"
#include "wire/amount.h"

namespace hb::cli {
namespace {

// One decimal where the exact text would be long: what is used is seldom a round number.
std::string short_bytes(std::uint64_t bytes) {
  std::string exact = exact_bytes(bytes);
  constexpr std::size_t kLong = 6;
  if (exact.size() <= kLong) return exact;
  constexpr std::string_view kUnits = "KMGTPE";
  double value = static_cast<double>(bytes) / 1024;
  std::size_t unit = 0;
  for (; value >= 1023.95 && unit + 1 < kUnits.size(); ++unit) value /= 1024;
  return fmt::format("{:.1f}{}", value, kUnits[unit]);
}

std::string percent(const hb_use& use) {
  if (use.limit == HB_UNLIMITED) return "-";
  if (use.limit == 0) return use.used == 0 ? "-" : "over";
  return fmt::format("{:.0f}%", 100.0 * static_cast<double>(use.used) / static_cast<double>(use.limit));
}

}  // namespace

Accounts fetch_accounts(const Connection& connection) {
  hb_error error = HB_ERROR_INIT;
  hb_accounts* list = nullptr;
  check(hb_quota_list(connection.client(), connection.deadline(), &list, &error), error);
  Accounts accounts;
  accounts.list.reset(list);
  for (std::size_t i = 0; i < hb_accounts_count(list); ++i)
    accounts.entries.push_back(hb_accounts_at(list, i));
  return accounts;
}

std::string amount_text(std::string_view resource, std::uint64_t amount) {
  if (amount == HB_UNLIMITED) return "unlimited";
  return is_bytes(resource) ? short_bytes(amount) : std::to_string(amount);
}

Table accounts_table(std::span<const hb_account* const> accounts) {
  constexpr auto kRight = Column::Align::kRight;
  Table table({{"SCOPE", Column::Align::kLeft, 6, 0},
               {"UID", kRight},
               {"RESOURCE"},
               {"USED", kRight},
               {"LIMIT", kRight},
               {"OF IT", kRight, 0, 1}});
  for (const hb_account* account : accounts)
    for (const hb_use& use : std::span(account->uses, account->use_count)) {
      if (use.used == 0 && use.limit == HB_UNLIMITED) continue;
      table.add({safe(account->scope), account->whole_scope != 0 ? "all" : std::to_string(account->uid),
                 safe(use.resource), amount_text(use.resource, use.used),
                 amount_text(use.resource, use.limit), percent(use)});
    }
  return table;
}

Json accounts_json(std::span<const hb_account* const> accounts, bool admin) {
  Json list = Json::array();
  for (const hb_account* account : accounts) {
    Json resources = Json::object();
    for (const hb_use& use : std::span(account->uses, account->use_count))
      resources[use.resource] = {{"used", use.used},
                                 {"limit", use.limit == HB_UNLIMITED ? Json(nullptr) : Json(use.limit)}};
    list.push_back({{"scope", account->scope},
                    {"uid", account->whole_scope != 0 ? Json(nullptr) : Json(account->uid)},
                    {"resources", std::move(resources)}});
  }
  return {{"view", admin ? "admin" : "own"}, {"accounts", std::move(list)}};
}

std::string Whom::text() const {
  const std::string in = scope.empty() ? "" : fmt::format("scope {}", safe(scope.c_str()));
  if (uid) return fmt::format("uid {}{}{}", *uid, in.empty() ? "" : " in ", in);
  if (gid) return fmt::format("gid {}{}{}", *gid, in.empty() ? "" : " in ", in);
  return in;
}

std::string quota_set_text(const Whom& whom, std::span<const hb_limit> limits, bool clear,
                           std::uint64_t sessions) {
  std::string said;
  std::string lines;
  for (const hb_limit& limit : limits) {
    const bool bytes = is_bytes(limit.resource);
    const bool endless = limit.limit == HB_UNLIMITED;
    const std::string text = endless ? "unlimited"
                             : bytes ? exact_bytes(limit.limit)
                                     : std::to_string(limit.limit);
    said += fmt::format("{}{} {}", said.empty() ? "" : ", ", limit.resource, text);
    // TOML has no integer beyond INT64_MAX: without an upper bound that is as good as none.
    const std::string value = endless ? std::to_string(INT64_MAX) : text;
    lines += bytes && !endless ? fmt::format("{} = \"{}\"\n", limit.resource, value)
                               : fmt::format("{} = {}\n", limit.resource, value);
  }
  std::string out = clear ? fmt::format("cleared what was set for {}\n", whom.text()) : "";
  if (!limits.empty()) out += fmt::format("set for {}: {}\n", whom.text(), said);
  out += fmt::format("{} live session{} from now on; what exists stays\n", sessions,
                     sessions == 1 ? " has it" : "s have it");
  if (limits.empty()) return out;
  if (!whom.uid && !whom.gid) return out + "it lasts as long as the scope\n";
  out += "it lasts until the node reboots; to keep it, add to /etc/hipbroker/policy.toml:\n\n";
  out += "[[quota.override]]\n";
  out += whom.uid ? fmt::format("uid = [{}]\n", *whom.uid) : fmt::format("gid = [{}]\n", *whom.gid);
  out += fmt::format("scope = [\"{}\"]\n", whom.scope.empty() ? "main" : safe(whom.scope.c_str()));
  return out + lines;
}

}  // namespace hb::cli
