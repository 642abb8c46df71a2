// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "fetch.h"
#include "hipbroker/quotas.h"
#include "json.h"
#include "table.h"

namespace hb::cli {

// What of limits can be set, by the words of hipbroker/quotas.h.
struct Limited {
  std::string_view key;
  std::string_view text;
};
inline constexpr std::array kLimited{
    Limited{"sessions", "Connections"},
    Limited{"exports", "Exports"},
    Limited{"chunks", "Chunks of exports"},
    Limited{"bytes", "Memory exported; an allocation counts once for each uid that exports it"},
    Limited{"descriptors", "What the daemon keeps open for it"},
    Limited{"leases", "What is held of others"},
    Limited{"stagings", "Exports half sent"},
    Limited{"waits", "Requests that wait"},
    Limited{"tickets", "Tickets made and not used"},
    Limited{"groups", "Groups joined"},
    Limited{"events", "Events not taken"},
    Limited{"requests", "Requests not answered"},
    Limited{"connects", "Connections a second"},
};
[[nodiscard]] inline bool is_bytes(std::string_view key) { return key == "bytes"; }

struct Accounts {
  Owned<hb_accounts, hb_accounts_free> list;
  std::vector<const hb_account*> entries;
};
[[nodiscard]] Accounts fetch_accounts(const Connection& connection);  // throws Failure

// "300G", "12.3G", "200000", "unlimited".
[[nodiscard]] std::string amount_text(std::string_view resource, std::uint64_t amount);

// A row for each resource of each account that is used or limited.
[[nodiscard]] Table accounts_table(std::span<const hb_account* const> accounts);
[[nodiscard]] Json accounts_json(std::span<const hb_account* const> accounts, bool admin);

// Whose quota is set.
struct Whom {
  std::optional<std::uint32_t> uid;
  std::optional<std::uint32_t> gid;
  std::string scope;  // "" = the main one

  [[nodiscard]] std::string text() const;  // "uid 1001", "gid 44 in scope job7", "scope job7"
};
// What was done, for how long, and the lines that make it last.
[[nodiscard]] std::string quota_set_text(const Whom& whom, std::span<const hb_limit> limits, bool clear,
                                         std::uint64_t sessions);

}  // namespace hb::cli
