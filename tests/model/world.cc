// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Commands to verbs, and sessions.
#include "model/world.h"

#include <algorithm>
#include <memory>
#include <optional>

#include "model/world_cast.h"

namespace hb::test {

using namespace core;

namespace {

constexpr std::size_t kRemembered = 5;
constexpr Time kRememberedNs = 200 * kTick;

// Every principal, and some of one uid more often: they share names, claims and groups.
constexpr std::uint32_t kCast[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 0, 4, 0};

BrokerConfig small_config() {
  BrokerConfig config;
  config.broker_id[0] = 1;
  config.master[0] = 2;
  config.fd_limit = 60;  // 15 are kept
  config.fd_base = 10;
  config.retries = true;
  config.records = true;
  config.ended_exports = kRemembered;
  config.ended_export_ns = kRememberedNs;
  return config;
}

}  // namespace

World::World()
    : config_(small_config()),
      broker_(std::make_unique<Broker>(config_)),
      model_(kRemembered, kRememberedNs),
      now_(1000 * kTick) {
  broker_->add_scope(ScopeId{scope_}, "other", LimitSet::unlimited());
}

std::string World::step(const Command& c) {
  now_ += c.bytes[7] % 4 * kTick;
  if (c.op() == Op::kConnect || actors_.empty()) {
    if (actors_.size() < kActors) connect(make_principal(kCast[c.at(2, 12)], scope_));
  } else {
    const std::size_t index = c.at(1, static_cast<std::uint32_t>(actors_.size()));
    if (c.op() == Op::kDisconnect) {
      disconnect(index);
    } else if (c.op() == Op::kRemoveScope) {
      remove_scope();
    } else if (c.op() == Op::kRestart) {
      pass_time();
      tick();
      if (c.at(2, 3) == 0)
        restart(nullptr, {});
      else
        crash_next_ = true;
    } else {
      if (std::exchange(crash_next_, false) && c.op() != Op::kTakeEvents && c.op() != Op::kTerms) {
        pass_time();
        tick();
        crash_after_ = true;
      }
      if (c.op() == Op::kTick) now_ += c.bytes[2] * kTick;
      pass_time();
      told_time_ = false;
      carry_out(actors_[index], c);
      crash_after_ = false;
      if (!told_time_) tick();
    }
  }
  compare();
  return failure_;
}

namespace {

// What a command may be refused for before anything is looked at.
std::optional<Verb> verb_of(Op op) {
  switch (op) {
    case Op::kExport:
    case Op::kExportWrong:
    case Op::kExportPaged:
    case Op::kClaim:
    case Op::kChange:  // an append
    case Op::kChangePaged:
    case Op::kChangeWrong:
      return Verb::kExport;
    case Op::kAcquireKey:
    case Op::kAcquireName:
    case Op::kAcquireTicket:
    case Op::kWait:
      return Verb::kAcquire;
    case Op::kList:
    case Op::kShow:
    case Op::kWho:
      return Verb::kList;
    case Op::kRevoke:
      return Verb::kRevoke;
    default:
      return std::nullopt;
  }
}

}  // namespace

void World::forbidden(Actor& actor, Verb verb) {
  switch (verb) {
    case Verb::kExport: {
      ExportRequest request;
      request.total_chunks = request.distinct_handles = 1;
      request.total_size = 4096;
      request.chunks = {chunk_of(0, 0, 4096)};
      return send(actor, std::move(request), {pick_object(3)}, judge_status(HB_DENIED));
    }
    case Verb::kAcquire: {
      AcquireRequest request;
      request.target = NameRef{"alpha", {}};
      return send(actor, std::move(request), {}, judge_status(HB_DENIED));
    }
    case Verb::kRevoke:
      return send(actor, RevokeRequest{NameRef{"alpha", {}}, 0}, {}, judge_status(HB_DENIED));
    default:
      return send(actor, ListRequest{}, {}, judge_status(HB_DENIED));
  }
}

void World::set_terms(Actor& actor, const Command& c) {
  Principal& who = model_.sessions.at(actor.session.value).who;
  who.rights = Rights::all();
  if (c.at(2, 4) == 0) who.rights = who.rights.without(kVerbs[c.rest(2, 4) % kVerbs.size()]);
  LimitSet set = LimitSet::built_in();
  if (c.at(3, 2) == 0) set.set(Resource::kExports, c.rest(3, 2) % 5);
  who.limits = std::make_shared<const LimitSet>(set);
  broker_->set_terms(actor.session, who.rights, who.limits);
}

void World::remove_scope() {
  for (std::size_t i = actors_.size(); i-- > 0;)
    if (who_is(actors_[i]).scope.value == scope_) disconnect(i);
  pass_time();
  tick();
  model_.end_scope(scope_, now_);
  settle();
  run([&](Effects& out) { broker_->remove_scope(ScopeId{scope_}, now_, out); }, {}, nullptr);
  broker_->add_scope(ScopeId{++scope_}, "other", LimitSet::unlimited());
}

void World::carry_out(Actor& actor, const Command& c) {
  const Principal& principal = who_is(actor);
  if (const auto verb = verb_of(c.op()); verb && !principal.admin && !principal.rights.allows(*verb))
    return forbidden(actor, *verb);
  // Of an export or of a lease; a rank of a group needs both.
  if ((c.op() == Op::kMakeTicket || c.op() == Op::kJoin) && !principal.admin)
    for (const Verb verb : {Verb::kExport, Verb::kAcquire})
      if (!principal.rights.allows(verb)) return forbidden(actor, verb);
  switch (c.op()) {
    case Op::kExport:
      return export_memory(actor, c, false);
    case Op::kExportWrong:
      return export_wrong(actor, c);
    case Op::kExportPaged:
      return export_memory(actor, c, true);
    case Op::kPage:
      return page(actor, c, false);
    case Op::kPageWrong:
      return page(actor, c, true);
    case Op::kAbort:
      return abort_staging(actor, c);
    case Op::kAcquireKey:
      return acquire(actor, c, aim_by_key(c.bytes[2]), false);
    case Op::kAcquireName:
      return acquire(actor, c, aim_by_name(c), false);
    case Op::kWait:
      return acquire(actor, c, aim_by_name(c), true);
    case Op::kFetch:
      return fetch(actor, c);
    case Op::kRelease:
      return release(actor, c);
    case Op::kWithdraw:
      return withdraw(actor, c);
    case Op::kCancel:
      return cancel(actor, c);
    case Op::kResend:
      return resend(actor, c);
    case Op::kList:
      return list(actor, c);
    case Op::kShow:
      return show(actor, c);
    case Op::kWho:
      return who(actor, c);
    default:
      return carry_out_of_life(actor, c);
  }
}

void World::carry_out_of_life(Actor& actor, const Command& c) {
  switch (c.op()) {
    case Op::kChange:
      return change(actor, c, false);
    case Op::kChangeWrong:
      return change_wrong(actor, c);
    case Op::kChangePaged:
      return change(actor, c, true);
    case Op::kRefresh:
      return refresh(actor, c);
    case Op::kSuspend:
      return suspend(actor, c);
    case Op::kUnmapped:
      return unmapped(actor, c);
    case Op::kRevoke:
      return revoke(actor, aim(c, 2), c.at(3, 2) == 0 ? 0 : c.bytes[4] * kTick + 1);
    case Op::kClaim:
      return claim(actor, c);
    case Op::kSubscribe:
      return subscribe(actor);
    case Op::kTakeEvents:
      return take_events(actor, c);
    case Op::kPublish:
      return publish(actor, c);
    case Op::kWaitStep:
      return wait_step(actor, c);
    case Op::kAckStep:
      return ack_step(actor, c);
    case Op::kWaitAcks:
      return wait_acks(actor, c);
    case Op::kMakeTicket:
      return make_ticket(actor, c);
    case Op::kDropTicket:
      return drop_ticket(actor, c);
    case Op::kJoin:
      return join(actor, c);
    case Op::kReady:
      return ready(actor, c);
    case Op::kGroupAppend:
      return group_append(actor, c);
    case Op::kTerms:
      return set_terms(actor, c);
    case Op::kLeave:
      return leave(actor, c);
    case Op::kAcquireTicket:
      return acquire(actor, c, aim_by_ticket(c.bytes[2]), false);
    default:
      return;
  }
}

std::string World::finish() {
  while (!actors_.empty()) disconnect(0);
  compare();
  connect(make_principal(8, scope_));  // the admin: nobody else can end what outlives its owner
  pass_time();
  std::vector<std::uint64_t> left;
  for (const auto& [id, e] : model_.exports)
    if (e.current() || model_.is_held(id)) left.push_back(id);
  tick();
  for (const std::uint64_t id : left) revoke(actors_.front(), {ExportId{id}, {}}, 0);
  disconnect(0);
  compare();
  for (const auto& [handle, state] : handles_)
    if (state.second != 1) fail("handle " + std::to_string(handle) + " is left");
  return failure_;
}

void World::connect(const Principal& principal) {
  const bool fits = principal.admin || fds_fit(2);
  ProcessInfo process;
  process.pid = static_cast<std::uint32_t>(pids_.size() + 1);
  const auto session = broker_->connect(principal, process, now_);
  if (session.has_value() != fits) fail("connect should " + std::string(fits ? "work" : "be refused"));
  if (!session) return;
  if (model_.sessions.contains(session->value)) fail("a session id used twice");
  model_.sessions[session->value] = {principal};
  pids_[session->value] = process.pid;
  broker_->write_changes(memory_);
  actors_.push_back({*session, 0, {}});
}

void World::disconnect(std::size_t index) {
  const SessionId session = actors_[index].session;
  actors_.erase(actors_.begin() + static_cast<std::ptrdiff_t>(index));
  model_.drop_session(session.value, now_);
  settle();
  std::erase_if(unanswered_, [&](const auto& entry) { return entry.first.first == session.value; });
  run([&](Effects& out) { broker_->disconnect(session, now_, out); }, session, nullptr);
}

}  // namespace hb::test
