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
    {"tickets", limits::kSessionTickets, "drop some of this session, or wait until they are used or expire"},
    {"groups joined", limits::kSessionGroups, "leave one of this session"},
}};

}  // namespace

std::optional<Error> Quota::charge_session(const Principal& principal) {
  if (sessions_ >= limits::kSessions)
    return refusal("sessions", sessions_, limits::kSessions, "all users", "try again when others have left");
  Used& used = by_who_[{principal.scope, principal.uid}];
  if (used.sessions >= limits::kSessionsPerUid)
    return refusal("sessions", used.sessions, limits::kSessionsPerUid, text("uid ", principal.uid),
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
  if (used.tickets >= limits::kTicketsPerUid)
    return refusal("tickets", used.tickets, limits::kTicketsPerUid,
                   text("uid ", principal.uid, " in all its sessions, ended ones included"),
                   "drop some, or wait until they are used or expire");
  if (auto refused = charge(Resource::kTicket, charges, principal.uid)) return refused;
  ++used.tickets;
  return std::nullopt;
}

void Quota::give_back_ticket(ScopeId scope, std::uint32_t uid, Charges* charges) {
  if (charges != nullptr) give_back(Resource::kTicket, *charges);
  const Who who{scope, uid};
  --by_who_.at(who).tickets;
  forget_if_idle(who);
}

void Quota::forget_if_idle(const Who& who) {
  const auto found = by_who_.find(who);
  if (found->second.sessions == 0 && found->second.tickets == 0) by_who_.erase(found);
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
  return found == by_who_.end() ? 0 : found->second.sessions;
}

std::uint64_t Quota::tickets_of(ScopeId scope, std::uint32_t uid) const {
  const auto found = by_who_.find({scope, uid});
  return found == by_who_.end() ? 0 : found->second.tickets;
}

}  // namespace hb::core
