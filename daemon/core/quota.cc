// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "core/quota.h"

#include <algorithm>
#include <utility>

#include "core/failure.h"
#include "wire/limits.h"

namespace hb::core {

namespace {

Error refusal(Resource resource, std::uint64_t used, std::uint64_t amount, std::uint64_t limit,
              std::string who, std::string_view where = {}) {
  const ResourceText& words = text_of(resource);
  Error error = failure(HB_QUOTA, "limit of ", words.phrase, " reached: ", used, " of ", limit,
                        amount == 1 ? std::string() : text(" used, ", amount, " more asked"), " for ", who,
                        where, "; ", words.way_out);
  error.what = words.phrase;
  error.used = used;
  error.limit = limit;
  error.who = std::move(who);
  return error;
}

// Of one session, whatever its principal may use: bounds of the protocol, not of a policy.
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

bool exceeds(std::uint64_t used, std::uint64_t amount, std::uint64_t limit) {
  return used > limit || amount > limit - used;
}

std::optional<Error> refuse(const Core& core, const Session& session, Resource resource,
                            std::uint64_t amount) {
  const Principal& who = session.principal;
  const std::uint64_t of_session = session.charges.of(resource);
  if (exceeds(of_session, amount, session_limit(resource)))
    return refusal(resource, of_session, amount, session_limit(resource),
                   core.accounts.text_of(who.scope, who.uid), " in one session");
  if (session.account == kNoSlot) return std::nullopt;
  const std::uint64_t of_account = core.accounts.at(session.account).used.of(resource);
  const std::uint64_t limit = limit_of(core, who, resource);
  if (exceeds(of_account, amount, limit))
    return refusal(resource, of_account, amount, limit, core.accounts.text_of(who.scope, who.uid));
  const Scope& scope = *core.accounts.find_scope(who.scope);
  if (exceeds(scope.used.of(resource), amount, scope.total.of(resource)))
    return refusal(resource, scope.used.of(resource), amount, scope.total.of(resource),
                   "scope " + scope.name);
  return std::nullopt;
}

}  // namespace

std::uint64_t limit_of(const Core& core, const Principal& principal, Resource resource) {
  const std::uint64_t limit = principal.limit_of(resource);
  if (resource != Resource::kDescriptors) return limit;
  const std::uint64_t of_daemon = core.config.fd_limit;
  const std::uint64_t kept = limits::fd_reserve(of_daemon) + limits::fds_for_others(of_daemon);
  return std::min(limit, of_daemon - std::min(of_daemon, kept));
}

std::optional<Error> open_account(Core& core, Session& session) {
  const Principal& who = session.principal;
  if (core.sessions.size() > limits::kSessions) {
    Error error = refusal(Resource::kSessions, limits::kSessions, 1, limits::kSessions, "all users");
    error.message += " of other users, or try again when they have left";
    return error;
  }
  if (who.admin) return std::nullopt;
  if (core.accounts.find_scope(who.scope) == nullptr)
    return failure(HB_GONE, "the scope of this socket was removed; its directory is of no use any more");
  session.account = core.accounts.take(who.scope, who.uid);
  core.accounts.at(session.account).limits = who.limits;
  if (auto refused = charge(core, session, Resource::kSessions)) {
    core.accounts.drop_reference(std::exchange(session.account, kNoSlot));
    return refused;
  }
  return std::nullopt;
}

void close_account(Core& core, Session& session) {
  if (session.account == kNoSlot) return;
  give_back(core, session, Resource::kSessions);
  core.accounts.drop_reference(std::exchange(session.account, kNoSlot));
}

std::optional<Error> charge(Core& core, Session& session, Resource resource, std::uint64_t amount) {
  if (auto refused = refuse(core, session, resource, amount)) return refused;
  charge_again(core, session, resource, amount);
  return std::nullopt;
}

void charge_again(Core& core, Session& session, Resource resource, std::uint64_t amount) {
  if (session_limit(resource) != UINT64_MAX) session.charges.of(resource) += amount;
  if (session.account != kNoSlot) core.accounts.add(session.account, resource, amount);
}

void give_back(Core& core, Session& session, Resource resource, std::uint64_t amount) {
  if (session_limit(resource) != UINT64_MAX) session.charges.of(resource) -= amount;
  if (session.account != kNoSlot) core.accounts.subtract(session.account, resource, amount);
}

void give_back(Core& core, std::uint32_t account, Resource resource, std::uint64_t amount) {
  core.accounts.subtract(account, resource, amount);
}

bool add_chunk(Core& core, std::uint32_t account, AllocationId allocation) {
  core.allocations.add_reference(allocation);
  if (!core.allocations.add_payer(allocation, account)) return false;
  core.accounts.add(account, Resource::kBytes, core.allocations.at(allocation).size);
  core.accounts.add(account, Resource::kDescriptors, 1);
  return true;
}

void drop_chunk(Call& call, std::uint32_t account, AllocationId allocation) {
  Core& core = call.core;
  if (core.allocations.drop_payer(allocation, account)) {
    core.accounts.subtract(account, Resource::kBytes, core.allocations.at(allocation).size);
    core.accounts.subtract(account, Resource::kDescriptors, 1);
  }
  core.allocations.drop_reference(allocation, call.closing);
}

std::optional<Error> over_limit(const Core& core, const Session& session, Resource resource,
                                std::uint64_t before) {
  const Principal& who = session.principal;
  const std::uint64_t used = core.accounts.at(session.account).used.of(resource);
  const std::uint64_t limit = limit_of(core, who, resource);
  // What was too much before the limits were lowered is nobody's fault now.
  if (used <= before) return std::nullopt;
  const std::uint64_t more = used - before;
  if (used > limit) return refusal(resource, before, more, limit, core.accounts.text_of(who.scope, who.uid));
  const Scope& scope = *core.accounts.find_scope(who.scope);
  if (scope.used.of(resource) > scope.total.of(resource))
    return refusal(resource, scope.used.of(resource) - more, more, scope.total.of(resource),
                   "scope " + scope.name);
  return std::nullopt;
}

}  // namespace hb::core
