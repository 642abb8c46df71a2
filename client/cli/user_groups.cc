// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "user_groups.h"

#include <grp.h>
#include <pwd.h>

namespace hb::cli {

std::optional<std::vector<std::uint32_t>> groups_of_user(std::uint32_t uid) {
  std::vector<char> text(16'384);
  passwd record{};
  passwd* found = nullptr;
  if (::getpwuid_r(uid, &record, text.data(), text.size(), &found) != 0 || found == nullptr)
    return std::nullopt;
  // Told by the call when they do not fit, at most NGROUPS_MAX.
  constexpr std::size_t kMostGroups = 65'536;
  std::vector<gid_t> groups(64);
  for (;;) {
    int count = static_cast<int>(groups.size());
    if (::getgrouplist(record.pw_name, record.pw_gid, groups.data(), &count) >= 0) {
      groups.resize(static_cast<std::size_t>(count));
      return std::vector<std::uint32_t>(groups.begin(), groups.end());
    }
    if (groups.size() >= kMostGroups) return std::nullopt;
    groups.resize(groups.size() * 2);
  }
}

}  // namespace hb::cli
