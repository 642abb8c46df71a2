// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "core/access_rules.h"
#include "core/ending.h"
#include "core/failure.h"
#include "core/verbs.h"
#include "wire/name.h"

namespace hb::core {

namespace {

void answer_wait(Call& call, std::uint32_t slot, Error error) {
  const Wait wait = take_wait(call.core, slot);
  Asker asker{call.core.sessions.id_of(wait.session), call.core.sessions.at(wait.session), wait.request_id,
              wait.frame_type};
  answer(call, asker, true, std::move(error));
}

}  // namespace

Outcome park(Call& call, Asker& asker, AcquireRequest& request) {
  Core& core = call.core;
  const Principal& principal = asker.session.principal;
  if (auto refused = Quota::charge(Resource::kWait, asker.session.charges, principal.uid))
    return std::move(*refused);
  const NameRef& name = std::get<NameRef>(request.target);
  const std::string text = name.name;
  const std::uint32_t owner = name.owner_uid.value_or(principal.uid);
  Wait wait;
  wait.request_id = asker.request_id;
  wait.frame_type = asker.frame_type;
  wait.session = asker.id.slot();
  // Timers count signed nanoseconds: 292 years are as good as no end.
  constexpr Time kFarthest = INT64_MAX;
  wait.deadline =
      call.now >= kFarthest || request.wait_ns > kFarthest - call.now ? kNever : call.now + request.wait_ns;
  wait.request = std::move(request);
  const Time deadline = wait.deadline;
  const std::uint32_t slot = core.waits.park(principal.scope, owner, text, std::move(wait));
  if (deadline != kNever)
    core.waits.at(slot).ticket = core.deadlines.insert(deadline, {Deadline::Kind::kWait, slot});
  link_front<&Wait::of_session>(core.waits.table(), asker.session.waits, slot);
  return {};
}

bool is_parked(const Core& core, const Session& session, std::uint64_t request_id) {
  if (request_id == 0) return false;
  for (std::uint32_t slot = session.waits; slot != kNoSlot; slot = core.waits.at(slot).of_session.next)
    if (core.waits.at(slot).request_id == request_id) return true;
  return false;
}

void wake_waiters(Call& call, std::uint32_t export_slot) {
  Core& core = call.core;
  const Export& e = core.exports.at(export_slot);
  if (!e.name) return;
  for (const std::uint32_t slot : core.waits.waiting_for(e.scope, e.owner_uid, *e.name)) {
    const std::uint32_t session = core.waits.at(slot).session;
    if (!may_see(core.exports, e, core.sessions.at(session).principal)) continue;
    Wait wait = take_wait(core, slot);
    Asker asker{core.sessions.id_of(session), core.sessions.at(session), wait.request_id, wait.frame_type};
    if (core.config.retries && !candidates_of(core, asker.session.principal, wait.request).empty()) {
      wait.request.wait_ns = wait.deadline == kNever ? kNever : wait.deadline - call.now;
      wait.request.retried = true;
      call.out.emplace_back(Retry{asker.id, wait.request_id, wait.frame_type, std::move(wait.request)});
      continue;
    }
    Outcome outcome = acquire(call, asker, wait.request);
    answer(call, asker, true, std::move(*outcome.body));
  }
}

void expire_waits(Call& call) {
  Core& core = call.core;
  while (core.deadlines.next() <= call.now) {
    const std::optional<Deadline> due = core.deadlines.pop_due(call.now);
    core.waits.at(due->slot).ticket = kNoSlot;
    const NameRef& name = std::get<NameRef>(core.waits.at(due->slot).request.target);
    answer_wait(call, due->slot,
                failure(HB_TIMEOUT, "no export named \"", escape_for_display(name.name),
                        "\" that the caller may read appeared before the deadline"));
  }
}

void cancel(Call& call, Asker& asker, const CancelRequest& request) {
  if (request.request_id == 0) return;
  for (std::uint32_t slot = asker.session.waits; slot != kNoSlot;
       slot = call.core.waits.at(slot).of_session.next) {
    if (call.core.waits.at(slot).request_id != request.request_id) continue;
    answer_wait(call, slot, failure(HB_CANCELED, "the waiting acquire was canceled by its session"));
    return;
  }
}

}  // namespace hb::core
