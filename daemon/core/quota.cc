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

// Of one session, whatever its principal may use: bounds of this protocol, not of a policy.
constexpr std::uint64_t session_limit(Resource resource) {
  switch (resource) {
    case Resource::kLeases:
      return limits::kSessionLeases;
    case Resource::kStagings:
      return limits::kSessionStagings;
    case Resource::kWaits:
      return limits::kSessionWaits;
    case Resource::kTickets:
      return limits::kSessionTickets;
    case Resource::kGroups:
      return limits::kSessionGroups;
    default:
      return UINT64_MAX;
  }
}

}  // namespace

std::optional<Error> Quota::charge_session(const Principal& principal) {
  if (sessions_ >= limits::kSessions)
    return refusal("sessions", sessions_, limits::kSessions, "all users", "try again when others have left");
  Used& used = by_who_[{principal.scope, principal.uid}];
  if (used.sessions >= limits::kUidSessions)
    return refusal("sessions", used.sessions, limits::kUidSessions, text("uid ", principal.uid),
                   "close sessions of this uid");
  ++used.sessions;
  ++sessions_;
  return std::nullopt;
}

void Quota::give_back_session(const Principal& principal) {
  const Who who{principal.scope, principal.uid};
  --by_who_.at(who).sessions;
  --sessions_;
  forget_if_idle(who);
}

std::optional<Error> Quota::charge_ticket(const Principal& principal, Charges& charges) {
  Used& used = by_who_.at({principal.scope, principal.uid});  // the asker's session is counted there
  if (used.tickets >= limits::kUidTickets)
    return refusal("tickets", used.tickets, limits::kUidTickets,
                   text("uid ", principal.uid, " in all its sessions, ended ones included"),
                   "drop some, or wait until they are used or expire");
  if (auto refused = charge(Resource::kTickets, charges, principal.uid)) return refused;
  ++used.tickets;
  return std::nullopt;
}

void Quota::give_back_ticket(ScopeId scope, std::uint32_t uid, Charges* charges) {
  if (charges != nullptr) give_back(Resource::kTickets, *charges);
  const Who who{scope, uid};
  --by_who_.at(who).tickets;
  forget_if_idle(who);
}

void Quota::forget_if_idle(const Who& who) {
  const auto found = by_who_.find(who);
  if (found->second.sessions == 0 && found->second.tickets == 0) by_who_.erase(found);
}

std::optional<Error> Quota::charge(Resource resource, Charges& charges, std::uint32_t uid) {
  const ResourceText& cap = text_of(resource);
  const std::uint64_t limit = session_limit(resource);
  std::uint64_t& count = charges.count[static_cast<std::size_t>(resource)];
  if (count >= limit) return refusal(cap.phrase, count, limit, text("uid ", uid), cap.way_out);
  ++count;
  return std::nullopt;
}

std::uint64_t Quota::sessions_of(ScopeId scope, std::uint32_t uid) const {
  const auto found = by_who_.find({scope, uid});
  return found == by_who_.end() ? 0 : found->second.sessions;
}

std::uint64_t Quota::tickets_of(ScopeId scope, std::uint32_t uid) const {
  const auto found = by_who_.find({scope, uid});
  return found == by_who_.end() ? 0 : found->second.tickets;
}

}  // namespace hb::core
