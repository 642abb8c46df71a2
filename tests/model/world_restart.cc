// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// The process dies, and another one goes on with what was recorded. Nobody but the sessions' clients does
// anything: they send once more what was not answered.
#include <algorithm>
#include <type_traits>

#include "model/world.h"
#include "model/world_cast.h"

namespace hb::test {

using namespace core;

namespace {

template <class R>
concept WaitsFor = requires(R r) {
  r.wait_ns;
};

bool is_one_way(const Request& request) {
  return std::holds_alternative<ExportAbortRequest>(request) ||
         std::holds_alternative<ReleaseRequest>(request) || std::holds_alternative<CancelRequest>(request) ||
         std::holds_alternative<UnmappedRequest>(request) ||
         std::holds_alternative<AckStepRequest>(request) || std::holds_alternative<LeaveRequest>(request);
}

// What is left of its time, so that it ends when it would have.
void shorten(Request& request, Time sent, Time now) {
  std::visit(
      [&](auto& r) {
        if constexpr (WaitsFor<decltype(r)>) {
          if (r.wait_ns != kNever && r.wait_ns != 0) r.wait_ns -= std::min(now - sent, r.wait_ns);
        }
      },
      request);
}

}  // namespace

void World::run(const std::function<void(Effects&)>& event, SessionId session, const Request* request) {
  Effects effects;
  event(effects);
  broker_->write_changes(memory_);
  if (!std::exchange(crash_after_, false)) return carry_out(effects);
  // Recorded, and nobody has heard of it: but what nobody waits for is as good as answered.
  Effects heard;
  const bool one_way = request != nullptr && is_one_way(*request) && actor_of(session) != nullptr;
  for (Effect& effect : effects)
    if (const auto* reply = std::get_if<Reply>(&effect); one_way && reply != nullptr &&
                                                         reply->session == session &&
                                                         reply->request_id == actor_of(session)->last_request)
      heard.push_back(std::move(effect));
  carry_out(heard);
  restart(one_way ? request : nullptr, session);
}

void World::restart(const Request* again, SessionId session) {
  broker_ = std::make_unique<Broker>(config_);
  broker_->add_scope(ScopeId{scope_}, "other", LimitSet::unlimited());
  if (const std::string misfit = broker_->restore(memory_.read(), now_); !misfit.empty())
    return fail("restored: " + misfit);
  adopt_handles();
  for (const Broker::Restored& restored : broker_->sessions()) {
    if (!model_.sessions.contains(restored.id.value)) return fail("a session that nobody has");
    const Principal& who = model_.sessions.at(restored.id.value).who;
    broker_->set_terms(restored.id, who.rights, who.limits);
    for (const auto& [slot, value] : broker_->words_of(restored.id))
      words_[{restored.id.value, slot}] = value;
    std::set<std::uint32_t> taken;
    for (const auto& [slot, value] : broker_->words_of(restored.id)) taken.insert(slot);
    for (auto& [where, value] : words_)
      if (where.first == restored.id.value && !taken.contains(where.second)) value = 0;
  }
  resending_ = true;
  Effects rings;
  broker_->lose_events(rings);
  carry_out(rings);
  if (again != nullptr)
    run([&](Effects& out) { broker_->apply(session, 0, 7, *again, now_, out); }, session, nullptr);
  send_unanswered();
  // The wait that it was to end has begun once more.
  if (again != nullptr && std::holds_alternative<CancelRequest>(*again))
    run([&](Effects& out) { broker_->apply(session, 0, 7, *again, now_, out); }, session, nullptr);
  resending_ = false;
  for (const auto& [id, restored] : model_.sessions)
    broker_->set_terms(SessionId{id}, restored.who.rights, restored.who.limits);
  forget_news();
  lease_sets_.clear();
  for (const auto& [id, lease] : model_.leases) lease_sets_.emplace(pids_.at(lease.session), lease.id);
}

// As the edge finds them: what the records do not know is closed.
void World::adopt_handles() {
  std::set<std::uint64_t> held;
  for (const Broker::Held& one : broker_->held()) {
    held.insert(one.handle.value);
    const auto known = handles_.find(one.handle.value);
    if (known == handles_.end() || known->second.second != 0) fail("a handle is recorded that is closed");
  }
  for (auto& [handle, state] : handles_)
    if (state.second == 0 && !held.contains(handle)) state.second = 1;
}

void World::send_unanswered() {
  std::vector<std::pair<std::uint64_t, std::pair<std::uint64_t, std::uint64_t>>> ordered;
  for (const auto& [who, sent] : unanswered_) ordered.emplace_back(sent.order, who);
  std::sort(ordered.begin(), ordered.end());
  // The last one first: what it was answered tells the model what others are.
  const bool just_sent = !ordered.empty() && ordered.back().first == sent_;
  if (just_sent) std::rotate(ordered.begin(), std::prev(ordered.end()), ordered.end());
  for (const auto& [order, who] : ordered) {
    const auto found = unanswered_.find(who);
    if (found == unanswered_.end()) continue;  // another's answer was its own
    // What waits had been let in; sent once more by somebody who may not ask for it any more it would be
    // refused, which is right and not what the model says.
    if (order != sent_ || !just_sent)
      broker_->set_terms(SessionId{who.first}, Rights::all(), model_.sessions.at(who.first).who.limits);
    Unanswered sent = found->second;
    shorten(sent.request, sent.at, now_);
    attach(sent.request, sent.objects);
    apply(SessionId{who.first}, who.second, std::move(sent.request));
  }
}

// Every subscriber knows that it has to look at everything; what was to be told one by one is forgotten.
void World::forget_news() {
  for (auto& [id, lease] : model_.leases) {
    lease.untold.clear();
    lease.untold_since = 0;
  }
  model_.losses.clear();
  for (auto& [id, session] : model_.sessions) {
    if (!session.subscribed) continue;
    session.lost = true;
    session.rung = true;
  }
  rings_.clear();
  model_.rings.clear();
}

}  // namespace hb::test
