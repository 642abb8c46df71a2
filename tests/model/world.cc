// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Commands to verbs, and sessions.
#include "model/world.h"

#include <algorithm>

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
  config.ended_exports = kRemembered;
  config.ended_export_ns = kRememberedNs;
  return config;
}

}  // namespace

World::World()
    : config_(small_config()), broker_(config_), model_(kRemembered, kRememberedNs), now_(1000 * kTick) {
  broker_.add_scope(core::ScopeId{1}, "other", core::LimitSet::unlimited());
}

std::string World::step(const Command& c) {
  now_ += c.bytes[7] % 4 * kTick;
  if (c.op() == Op::kConnect || actors_.empty()) {
    if (actors_.size() < kActors) connect(make_principal(kCast[c.at(2, 12)]));
  } else {
    const std::size_t index = c.at(1, static_cast<std::uint32_t>(actors_.size()));
    if (c.op() == Op::kDisconnect) {
      disconnect(index);
    } else {
      if (c.op() == Op::kTick) now_ += c.bytes[2] * kTick;
      pass_time();
      told_time_ = false;
      carry_out(actors_[index], c);
      if (!told_time_) tick();
    }
  }
  compare();
  return failure_;
}

void World::carry_out(Actor& actor, const Command& c) {
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
  connect(make_principal(8));  // the admin: nobody else can end what outlives its owner
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
  const auto session = broker_.connect(principal, {}, now_);
  if (session.has_value() != fits) fail("connect should " + std::string(fits ? "work" : "be refused"));
  if (!session) return;
  if (model_.sessions.contains(session->value)) fail("a session id used twice");
  model_.sessions[session->value] = {principal};
  actors_.push_back({*session, 0, {}});
}

void World::disconnect(std::size_t index) {
  const SessionId session = actors_[index].session;
  actors_.erase(actors_.begin() + static_cast<std::ptrdiff_t>(index));
  model_.drop_session(session.value, now_);
  settle();
  Effects effects;
  broker_.disconnect(session, now_, effects);
  carry_out(effects);
}

}  // namespace hb::test
