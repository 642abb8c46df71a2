// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "ipc/unanswered.h"

#include <string>

#include "core/resource.h"
#include "ipc/uid_limit.h"

namespace hb::ipc {

void Unanswered::remove(const Who& who, std::uint64_t count) {
  const auto found = answers_.find(who);
  if (found == answers_.end()) return;
  found->second -= count;
  if (found->second == 0) answers_.erase(found);
}

std::uint64_t Unanswered::of(const Who& who) const {
  const auto found = answers_.find(who);
  return found == answers_.end() ? 0 : found->second;
}

std::optional<EdgeError> Unanswered::refuse(const core::Principal& principal) const {
  if (answers_.empty()) return std::nullopt;
  const std::uint64_t used = of(who(principal));
  const std::uint64_t limit = principal.limit_of(core::Resource::kRequests);
  if (used < limit) return std::nullopt;
  return uid_limit(core::text_of(core::Resource::kRequests), principal.uid, used, limit);
}

}  // namespace hb::ipc
