// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "core/quota.h"

#include "core/failure.h"
#include "wire/limits.h"

namespace hb::core {

namespace {

Error refusal(std::string_view what, std::uint64_t used, std::uint64_t limit, std::string who,
              std::string_view way_out) {
  Error error =
      failure(HB_QUOTA, "limit of ", what, " reached: ", used, " of ", limit, " for ", who, "; ", way_out);
  error.what = what;
  error.used = used;
  error.limit = limit;
  error.who = std::move(who);
  return error;
}

struct Cap {
  std::string_view what;
  std::uint64_t limit;
  std::string_view way_out;
};
constexpr std::array<Cap, kResources> kCaps{{
    {"leases", limits::kSessionLeases, "release leases of this session"},
    {"exports half sent", limits::kSessionStagings, "finish or abort one of this session"},
    {"waiting requests", limits::kSessionWaits, "cancel one of this session"},
    {"groups joined", limits::kSessionGroups, "leave one of this session"},
}};

}  // namespace

std::optional<Error> Quota::charge_session(const Principal& principal) {
  if (sessions_ >= limits::kSessions)
    return refusal("sessions", sessions_, limits::kSessions, "all users", "try again when others have left");
  const auto found = by_who_.try_emplace({principal.scope, principal.uid}).first;
  if (found->second >= limits::kSessionsPerUid)
    return refusal("sessions", found->second, limits::kSessionsPerUid, text("uid ", principal.uid),
                   "close sessions of this uid");
  ++found->second;
  ++sessions_;
  return std::nullopt;
}

void Quota::give_back_session(const Principal& principal) {
  const auto found = by_who_.find({principal.scope, principal.uid});
  if (--found->second == 0) by_who_.erase(found);
  --sessions_;
}

std::optional<Error> Quota::charge(Resource resource, Charges& charges, std::uint32_t uid) {
  const Cap& cap = kCaps[static_cast<std::size_t>(resource)];
  std::uint64_t& count = charges.count[static_cast<std::size_t>(resource)];
  if (count >= cap.limit) return refusal(cap.what, count, cap.limit, text("uid ", uid), cap.way_out);
  ++count;
  return std::nullopt;
}

std::uint64_t Quota::sessions_of(ScopeId scope, std::uint32_t uid) const {
  const auto found = by_who_.find({scope, uid});
  return found == by_who_.end() ? 0 : found->second;
}

}  // namespace hb::core
