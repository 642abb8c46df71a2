// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// How much a principal may use: what the file says for everybody, and for some.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "core/resource.h"
#include "policy/selector.h"

namespace hb::policy {

// A resource that is not said is left to what comes next.
struct Amounts {
  std::array<std::optional<std::uint64_t>, core::kResources> most{};

  [[nodiscard]] std::optional<std::uint64_t>& of(core::Resource resource) {
    return most[static_cast<std::size_t>(resource)];
  }
  [[nodiscard]] bool empty() const;
  void fill_into(core::LimitSet& limits) const;
};

struct QuotaOverride {
  Selector whom;
  Amounts amounts;
  std::uint32_t line = 0;
};

class QuotaRules {
 public:
  QuotaRules() = default;
  QuotaRules(const Amounts& everybody, std::vector<QuotaOverride> overrides);

  // One with uids comes before one with gids, that before one with scopes alone; of one kind the first of the
  // file. What none says is taken from [quota], what that does not say is built in. Who has no override of
  // its own shares one set with all such.
  [[nodiscard]] std::shared_ptr<const core::LimitSet> limits_of(const Who& who) const;
  [[nodiscard]] std::size_t overrides() const { return overrides_.size(); }

 private:
  std::vector<QuotaOverride> overrides_;  // the most specific first
  std::shared_ptr<const core::LimitSet> everybody_ =
      std::make_shared<core::LimitSet>(core::LimitSet::built_in());
};

}  // namespace hb::policy
