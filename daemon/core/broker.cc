// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "core/broker.h"

#include <algorithm>
#include <utility>

#include "core/access_rules.h"
#include "core/core.h"
#include "core/ending.h"
#include "core/event_table.h"
#include "core/failure.h"
#include "core/invariants.h"
#include "core/quota.h"
#include "core/state.h"
#include "core/ticket.h"
#include "core/verbs.h"
#include "wire/limits.h"

namespace hb::core {

namespace {

template <class... Cases>
struct Overloaded : Cases... {
  using Cases::operator()...;
};
template <class... Cases>
Overloaded(Cases...) -> Overloaded<Cases...>;

// For the hash alone: never the secret that keys are made with.
Secret hash_secret(const BrokerConfig& config) { return derive_secret(config.master, 0, 0); }

bool is_mutating(const Request& request) {
  return std::holds_alternative<ExportRequest>(request) ||
         std::holds_alternative<ExportChunksRequest>(request) ||
         std::holds_alternative<AcquireRequest>(request) ||
         std::holds_alternative<WithdrawRequest>(request) || std::holds_alternative<ChangeRequest>(request) ||
         std::holds_alternative<RevokeRequest>(request) || std::holds_alternative<SuspendRequest>(request) ||
         std::holds_alternative<ClaimRequest>(request) ||
         std::holds_alternative<MakeTicketRequest>(request) ||
         std::holds_alternative<DropTicketRequest>(request) ||
         std::holds_alternative<PublishRequest>(request) || std::holds_alternative<JoinRequest>(request) ||
         std::holds_alternative<ReofferRequest>(request);
}

bool is_one_way(const Request& request) {
  return std::holds_alternative<ExportAbortRequest>(request) ||
         std::holds_alternative<ReleaseRequest>(request) || std::holds_alternative<CancelRequest>(request) ||
         std::holds_alternative<UnmappedRequest>(request) ||
         std::holds_alternative<AckStepRequest>(request) || std::holds_alternative<LeaveRequest>(request);
}

void close_handles_of(const Request& request, Call& call) {
  const auto close = [&](const std::vector<HandleFacts>& handles) {
    for (const HandleFacts& handle : handles) call.closing.push_back(handle.id);
  };
  if (const auto* first = std::get_if<ExportRequest>(&request)) close(first->handles);
  if (const auto* more = std::get_if<ExportChunksRequest>(&request)) close(more->handles);
  if (const auto* change = std::get_if<ChangeRequest>(&request)) close(change->handles);
}

Outcome carry_out(Call& call, Asker& asker, Request& request) {
  return std::visit(Overloaded{
                        [&](ExportRequest& r) { return export_memory(call, asker, r); },
                        [&](ExportChunksRequest& r) { return export_chunks(call, asker, r); },
                        [&](const ExportAbortRequest& r) { return export_abort(call, asker, r); },
                        [&](AcquireRequest& r) { return acquire(call, asker, r); },
                        [&](const FetchRequest& r) { return fetch(call, asker, r); },
                        [&](const ReleaseRequest& r) { return release(call, asker, r); },
                        [&](const WithdrawRequest& r) { return withdraw(call, asker, r); },
                        [&](const CancelRequest& r) {
                          cancel(call, asker, r);
                          return Outcome(failure(HB_OK));
                        },
                        [&](const ListRequest& r) { return list(call, asker, r); },
                        [&](const ShowRequest& r) { return show(call, asker, r); },
                        [&](const WhoRequest& r) { return who(call, asker, r); },
                        [&](const StatusRequest&) { return status(call, asker); },
                        [&](ChangeRequest& r) { return change(call, asker, r); },
                        [&](const RefreshRequest& r) { return refresh(call, asker, r); },
                        [&](const RevokeRequest& r) { return revoke(call, asker, r); },
                        [&](const SuspendRequest& r) { return suspend(call, asker, r); },
                        [&](const UnmappedRequest& r) { return unmapped(call, asker, r); },
                        [&](const ClaimRequest& r) { return claim(call, asker, r); },
                        [&](const MakeTicketRequest& r) { return make_ticket(call, asker, r); },
                        [&](const DropTicketRequest& r) { return drop_ticket(call, asker, r); },
                        [&](const SubscribeRequest&) { return subscribe(asker); },
                        [&](const TakeEventsRequest& r) { return take_events(call, asker, r); },
                        [&](const PublishRequest& r) { return publish(call, asker, r); },
                        [&](const WaitStepRequest& r) { return wait_step(call, asker, r); },
                        [&](const AckStepRequest& r) { return ack_step(call, asker, r); },
                        [&](const WaitAcksRequest& r) { return wait_acks(call, asker, r); },
                        [&](JoinRequest& r) { return join(call, asker, r); },
                        [&](ReadyRequest& r) { return ready(call, asker, r); },
                        [&](const GroupAppendRequest& r) { return group_append(call, asker, r); },
                        [&](const LeaveRequest& r) { return leave(call, asker, r); },
                        [&](const QuotaListRequest& r) { return list_quotas(call, asker, r); },
                        [&](const ReofferRequest& r) { return reoffer(call, asker, r); },
                    },
                    request);
}

void expire(Call& call) {
  Core& core = call.core;
  while (core.deadlines.next() <= call.now) {
    const std::optional<Deadline> due = core.deadlines.pop_due(call.now);
    switch (due->kind) {
      case Deadline::Kind::kWait:
        expire_wait(call, due->slot);
        break;
      case Deadline::Kind::kLinger:
        expire_orphan(call, due->slot);
        break;
      case Deadline::Kind::kTicket:
        expire_ticket(call, due->slot);
        break;
    }
  }
  core.exports.forget_expired(call.now);
  call.close_gathered();
}

}  // namespace

Core::Core(const BrokerConfig& with)
    : config(with),
      exports(accounts, hash_secret(with),
              with.ended_exports != 0 ? with.ended_exports : limits::kEndedExports,
              with.ended_export_ns != 0 ? with.ended_export_ns : limits::kEndedExportNs),
      allocations(hash_secret(with)),
      lease_sets(hash_secret(with)),
      waits(hash_secret(with)),
      groups(hash_secret(with)),
      fds(with.fd_limit) {}

Broker::Broker(const BrokerConfig& config) : state_(std::make_unique<State>(config)) {}
Broker::~Broker() = default;

tl::expected<SessionId, Error> Broker::connect(const Principal& principal, ProcessInfo process, Time now) {
  Core& core = state_->core;
  // The admin may use the reserve: who looks for the cause of a full table must get in.
  if (!principal.admin)
    if (auto refused = core.fds.refuse("a session", core.fds_used(), core.config.fds_per_session))
      return tl::unexpected(std::move(*refused));
  const std::uint32_t slot = core.sessions.emplace();
  Session& session = core.sessions.at(slot);
  session.principal = principal;
  if (auto refused = open_account(core, session)) {
    core.sessions.erase(slot);
    return tl::unexpected(std::move(*refused));
  }
  session.process = std::make_shared<const ProcessInfo>(std::move(process));
  session.connected = now;
  return core.sessions.id_of(slot);
}

void Broker::disconnect(SessionId id, Time now, Effects& out) {
  Core& core = state_->core;
  Session* session = core.sessions.find(id);
  if (session == nullptr) return;
  session->ending = true;
  Call call{core, now, out};
  leave_groups(call, *session);
  while (session->waits != kNoSlot) static_cast<void>(take_wait(core, session->waits));
  expire(call);
  drop_holdings(call, *session);
  while (session->exports != kNoSlot) leave_export(call, session->exports);
  end_session(call, id.slot());
}

bool Broker::add_scope(ScopeId scope, std::string name, const LimitSet& total) {
  return state_->core.accounts.add_scope(scope, std::move(name), total);
}

void Broker::set_scope_limits(ScopeId scope, const LimitSet& total) {
  if (Scope* const found = state_->core.accounts.find_scope(scope)) found->total = total;
}

std::optional<Broker::ScopeUse> Broker::scope_use(ScopeId scope) const {
  const Scope* const found = state_->core.accounts.find_scope(scope);
  if (found == nullptr) return std::nullopt;
  return ScopeUse{found->name, found->used.all(), found->total};
}

void Broker::remove_scope(ScopeId scope, Time now, Effects& out) {
  Core& core = state_->core;
  if (!scope || core.accounts.find_scope(scope) == nullptr) return;
  for (std::uint32_t slot = 0; slot < core.sessions.slots(); ++slot)
    if (core.sessions.live(slot) && core.sessions.at(slot).principal.scope == scope)
      disconnect(core.sessions.id_of(slot), now, out);
  Call call{core, now, out};
  end_scope(call, scope);
  core.accounts.remove_scope(scope);
}

void Broker::set_terms(SessionId id, Rights rights, std::shared_ptr<const LimitSet> limits) {
  Session* session = state_->core.sessions.find(id);
  if (session == nullptr) return;
  session->principal.rights = rights;
  session->principal.limits = limits;
  if (session->account != kNoSlot) state_->core.accounts.at(session->account).limits = std::move(limits);
}

const Principal* Broker::principal_of(SessionId id) const {
  const Session* session = state_->core.sessions.find(id);
  return session == nullptr ? nullptr : &session->principal;
}

std::optional<AccessExplained> Broker::explain(const Principal& who, const NameRef& name) const {
  const ExportTable& exports = state_->core.exports;
  const Name* named = exports.find_name(who.scope, name.owner_uid.value_or(who.uid), name.name);
  if (named == nullptr || named->current == kNoSlot) return std::nullopt;
  return explain_access(exports, named->current, who);
}

void Broker::apply(SessionId id, std::uint64_t request_id, std::uint16_t frame_type, Request request,
                   Time now, Effects& out) {
  Core& core = state_->core;
  Call call{core, now, out};
  expire(call);
  Session* session = core.sessions.find(id);
  if (session == nullptr) {
    close_handles_of(request, call);
    call.close_gathered();
    return;
  }
  Asker asker{id, *session, request_id, frame_type, &request};
  const bool mutating = is_mutating(request);
  if (mutating) {
    // Sent again while it waits: the one answer is still to come.
    if (is_parked(core, *session, request_id)) {
      close_handles_of(request, call);
      call.close_gathered();
      return;
    }
    if (auto before = answered_before(call, asker, request)) {
      close_handles_of(request, call);
      call.close_gathered();
      answer_again(call, asker, std::move(*before));
      return;
    }
  }
  Outcome outcome = carry_out(call, asker, request);
  call.close_gathered();
  if (outcome.body && (request_id != 0 || !is_one_way(request)))
    answer(call, asker, mutating, std::move(*outcome.body), outcome.after_close);
  if (outcome.ring) {
    session->rung = true;
    out.emplace_back(Ring{id});
  }
  if (outcome.completed != kNoSlot) wake_waiters(call, outcome.completed);
}

void Broker::tick(Time now, Effects& out) {
  Call call{state_->core, now, out};
  expire(call);
}

Time Broker::next_deadline() const {
  return std::min(state_->core.deadlines.next(), state_->core.exports.next_expiry());
}

std::vector<Broker::Candidate> Broker::readonly_candidates(SessionId id,
                                                           const AcquireRequest& request) const {
  const Session* session = state_->core.sessions.find(id);
  return session == nullptr ? std::vector<Candidate>()
                            : candidates_of(state_->core, session->principal, request);
}

std::vector<Broker::Candidate> Broker::readonly_candidates(SessionId id,
                                                           const RefreshRequest& request) const {
  Session* session = state_->core.sessions.find(id);
  if (session == nullptr) return {};
  return candidates_of(state_->core, Asker{id, *session}, request);
}

void Broker::note_extra_fds(std::int64_t change) { state_->core.fds.note_extra(change); }

HandleId Broker::handle_of(AllocationId id) const {
  const Allocation* allocation = state_->core.allocations.find(id);
  return allocation == nullptr ? HandleId{} : allocation->handle;
}

Counters Broker::counters() const { return count(state_->core); }

std::uint64_t Broker::fds_used() const { return state_->core.fds_used(); }

std::string check_invariants(const Broker& broker) { return first_broken_invariant(broker.state_->core); }

}  // namespace hb::core
