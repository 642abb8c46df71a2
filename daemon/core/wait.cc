// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "core/access_rules.h"
#include "core/ending.h"
#include "core/failure.h"
#include "core/quota.h"
#include "core/verbs.h"
#include "wire/limits.h"
#include "wire/name.h"

namespace hb::core {

namespace {

// Timers count signed nanoseconds: 292 years are as good as no end.
Time deadline_of(Time now, std::uint64_t wait_ns) {
  constexpr Time kFarthest = INT64_MAX;
  return now >= kFarthest || wait_ns > kFarthest - now ? kNever : now + wait_ns;
}

void link_wait(Core& core, Session& session, std::uint32_t slot) {
  Wait& wait = core.waits.at(slot);
  if (wait.deadline != kNever)
    wait.ticket = core.deadlines.insert(wait.deadline, {Deadline::Kind::kWait, slot});
  link_front<&Wait::of_session>(core.waits.table(), session.waits, slot);
}

Wait wait_of(const Asker& asker, Time now, std::uint64_t wait_ns) {
  Wait wait;
  wait.request_id = asker.request_id;
  wait.frame_type = asker.frame_type;
  wait.session = asker.id.slot();
  wait.deadline = deadline_of(now, wait_ns);
  return wait;
}

// Their answers list holders: many at once would not fit into what a session may have unread.
bool answers_with_a_list(const Wait& wait) {
  return std::holds_alternative<DrainWait>(wait.what) || std::holds_alternative<AcksWait>(wait.what);
}

std::optional<Error> refuse_list(const Core& core, const Session& session) {
  std::uint64_t lists = 0;
  for (std::uint32_t slot = session.waits; slot != kNoSlot; slot = core.waits.at(slot).of_session.next)
    lists += answers_with_a_list(core.waits.at(slot)) ? 1 : 0;
  if (lists < limits::kSessionListWaits) return std::nullopt;
  Error error = failure(HB_QUOTA, "limit of waits for holders reached: ", lists, " of ",
                        limits::kSessionListWaits, " in this session; cancel one, or wait for its answer");
  error.what = "waits for holders";
  error.used = lists;
  error.limit = limits::kSessionListWaits;
  error.who = text("uid ", session.principal.uid);
  return error;
}

std::uint32_t subject_of(const DrainWait& wait) { return wait.exported; }
std::uint32_t subject_of(const StepWait& wait) { return wait.exported; }
std::uint32_t subject_of(const AcksWait& wait) { return wait.exported; }

template <class Kind>
std::optional<Error> park_on_export(Call& call, Asker& asker, Kind what, std::uint64_t wait_ns,
                                    bool mutating) {
  Core& core = call.core;
  if constexpr (!std::is_same_v<Kind, StepWait>)
    if (auto refused = refuse_list(core, asker.session)) return refused;
  if (auto refused = charge(core, asker.session, Resource::kWaits)) return refused;
  ExportLife& life = core.exports.life_of(subject_of(what));
  Wait wait = wait_of(asker, call.now, wait_ns);
  wait.mutating = mutating;
  wait.what = what;
  const std::uint32_t slot = core.waits.table().emplace(std::move(wait));
  link_front<&Wait::of_line>(core.waits.table(), life.waits, slot);
  link_wait(core, asker.session, slot);
  return std::nullopt;
}

}  // namespace

void answer_wait(Call& call, const Wait& wait, ReplyBody body, bool after_close) {
  Asker asker{call.core.sessions.id_of(wait.session), call.core.sessions.at(wait.session), wait.request_id,
              wait.frame_type};
  answer(call, asker, wait.mutating, std::move(body), after_close);
}

std::optional<Error> park(Call& call, Asker& asker, DrainWait what, std::uint64_t wait_ns, bool mutating) {
  return park_on_export(call, asker, what, wait_ns, mutating);
}
std::optional<Error> park(Call& call, Asker& asker, StepWait what, std::uint64_t wait_ns) {
  return park_on_export(call, asker, what, wait_ns, false);
}
std::optional<Error> park(Call& call, Asker& asker, AcksWait what, std::uint64_t wait_ns) {
  return park_on_export(call, asker, what, wait_ns, false);
}

tl::expected<std::uint32_t, Error> park(Call& call, Asker& asker, MemberWait what, std::uint64_t wait_ns,
                                        bool mutating) {
  Core& core = call.core;
  if (auto refused = charge(core, asker.session, Resource::kWaits))
    return tl::unexpected(std::move(*refused));
  Wait wait = wait_of(asker, call.now, wait_ns);
  wait.mutating = mutating;
  wait.what = what;
  const std::uint32_t slot = core.waits.table().emplace(std::move(wait));
  link_wait(core, asker.session, slot);
  return slot;
}

Outcome park(Call& call, Asker& asker, AcquireRequest& request) {
  Core& core = call.core;
  const Principal& principal = asker.session.principal;
  if (auto refused = charge(core, asker.session, Resource::kWaits)) return std::move(*refused);
  const NameRef& name = std::get<NameRef>(request.target);
  const std::string text = name.name;
  const std::uint32_t owner = name.owner_uid.value_or(principal.uid);
  Wait wait = wait_of(asker, call.now, request.wait_ns);
  wait.what = std::move(request);
  link_wait(core, asker.session, core.waits.park(principal.scope, owner, text, std::move(wait)));
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
  const Name* const name = core.exports.name_of(e);
  if (name == nullptr) return;
  for (const std::uint32_t slot : core.waits.waiting_for(e.scope, e.owner_uid, name->text)) {
    const std::uint32_t session = core.waits.at(slot).session;
    if (!may_see(core.exports, e, core.sessions.at(session).principal)) continue;
    Wait wait = take_wait(core, slot);
    AcquireRequest& request = std::get<AcquireRequest>(wait.what);
    Asker asker{core.sessions.id_of(session), core.sessions.at(session), wait.request_id, wait.frame_type};
    if (core.config.retries && !candidates_of(core, asker.session.principal, request).empty()) {
      request.wait_ns = wait.deadline == kNever ? kNever : wait.deadline - call.now;
      request.retried = true;
      call.out.emplace_back(Retry{asker.id, wait.request_id, wait.frame_type, std::move(request)});
      continue;
    }
    Outcome outcome = acquire(call, asker, request);
    answer(call, asker, true, std::move(*outcome.body));
  }
}

void expire_wait(Call& call, std::uint32_t slot) {
  Core& core = call.core;
  core.waits.at(slot).ticket = kNoSlot;  // it was taken out of the queue
  const auto& what = core.waits.at(slot).what;
  if (std::holds_alternative<DrainWait>(what)) return answer_drain(call, slot);
  if (std::holds_alternative<AcksWait>(what)) return answer_acks(call, slot);
  if (const auto* member = std::get_if<MemberWait>(&what)) return expire_meeting(call, *member);
  Error error;
  if (const auto* acquire = std::get_if<AcquireRequest>(&what))
    error =
        failure(HB_TIMEOUT, "no export named \"", escape_for_display(std::get<NameRef>(acquire->target).name),
                "\" that may be read, and is awake, appeared before the deadline");
  else
    error =
        failure(HB_TIMEOUT, "step ", std::get<StepWait>(what).step, " was not published before the deadline");
  const Wait wait = take_wait(core, slot);
  answer_wait(call, wait, std::move(error));
}

void cancel(Call& call, Asker& asker, const CancelRequest& request) {
  if (request.request_id == 0) return;
  for (std::uint32_t slot = asker.session.waits; slot != kNoSlot;
       slot = call.core.waits.at(slot).of_session.next) {
    if (call.core.waits.at(slot).request_id != request.request_id) continue;
    if (const auto* member = std::get_if<MemberWait>(&call.core.waits.at(slot).what))
      return cancel_member(call, *member);
    const Wait wait = take_wait(call.core, slot);
    return answer_wait(call, wait, failure(HB_CANCELED, "the waiting request was canceled by its session"));
  }
}

}  // namespace hb::core
