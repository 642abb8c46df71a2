// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Limits that were set while the daemon ran: by `quota set`, and for a scope when it was made. They come
// before those of the file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/resource.h"
#include "policy/quota_rules.h"
#include "policy/selector.h"

namespace hb::policy {

struct SetQuota {
  std::string scope;
  std::optional<std::uint32_t> uid;  // neither: each principal of the scope
  std::optional<std::uint32_t> gid;
  Amounts amounts;

  [[nodiscard]] bool fits(const Who& who) const;
};

class SetQuotas {
 public:
  SetQuotas() = default;
  explicit SetQuotas(std::vector<SetQuota> quotas);

  // One of the uid comes before those of its gids, of which the first counts, these before the scope's.
  [[nodiscard]] bool concerns(const Who& who) const;
  void fill_into(core::LimitSet& limits, const Who& who) const;

 private:
  std::vector<SetQuota> quotas_;  // the most specific first
};

}  // namespace hb::policy
