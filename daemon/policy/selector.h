// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Whom a rule or a quota is about. What is left empty is everybody; what is said must all fit.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hb::policy {

// 4294967295, (uid_t)-1, is no id: the kernel takes it for "leave it as it is".
inline constexpr std::uint32_t kMostId = UINT32_MAX - 1;

inline constexpr std::string_view kMainScope = "main";

struct IdRange {
  std::uint32_t first = 0;
  std::uint32_t last = 0;
  bool operator==(const IdRange&) const = default;
};

// Who asks: values of the kernel, and the name of the scope whose socket was used.
struct Who {
  std::string_view scope;
  std::uint32_t uid = 0;
  std::span<const std::uint32_t> gids;  // all of them
};

struct Selector {
  std::vector<IdRange> uids;
  std::vector<IdRange> gids;
  std::vector<std::string> scopes;  // names; with `*` as the last byte all that begin so

  [[nodiscard]] bool fits(const Who& who) const;
  [[nodiscard]] bool everybody() const { return uids.empty() && gids.empty() && scopes.empty(); }
  // "uid 1001, 2000-2999 of gid 44 in scope job-*"; "everybody"
  [[nodiscard]] std::string text() const;

  // Some uid of `range` can fit.
  [[nodiscard]] bool may_mean(const IdRange& range) const;
  // Whoever fits `other` in its scopes and gids fits these of this selector, too.
  [[nodiscard]] bool covers_but_for_uids(const Selector& other) const;
};

// Is every id of `inner` in `outer`? Empty = all ids, on both sides.
[[nodiscard]] bool covers(std::vector<IdRange> outer, std::vector<IdRange> inner);

}  // namespace hb::policy
