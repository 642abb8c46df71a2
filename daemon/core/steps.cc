// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Steps: the owner publishes a number, holders wait for it and acknowledge it. No handle moves.
#include <algorithm>
#include <utility>

#include "core/ending.h"
#include "core/failure.h"
#include "core/lookup.h"
#include "core/verbs.h"
#include "core/view.h"
#include "core/waiting.h"
#include "wire/limits.h"

namespace hb::core {

namespace {

AcksWaited acks_of(const Core& core, std::uint32_t export_slot, std::uint64_t step, Time now) {
  const Export& e = core.exports.at(export_slot);
  AcksWaited out;
  for (std::uint32_t slot = e.leases; slot != kNoSlot; slot = core.leases.at(slot).of_export.next) {
    if (core.leases.at(slot).acked_step >= step) {
      ++out.acked;
    } else if (out.missing.size() < limits::kListEntries) {
      out.missing.push_back(holder_of(core, slot, now));
    } else {
      out.more_missing = true;
    }
  }
  if (e.life == nullptr) return out;
  out.more_left = e.life->more_departed;
  for (const ExportLife::Departed& gone : e.life->departed) {
    if (gone.acked_step >= step) continue;
    Holder holder;
    holder.lease = gone.lease;
    holder.exported = core.exports.id_of(export_slot);
    holder.session = {gone.session, gone.uid, gone.gid, gone.process.get(), 0};
    holder.acked_step = gone.acked_step;
    out.left.push_back(holder);
  }
  return out;
}

Error not_held(LeaseId lease) {
  return failure(HB_NOT_HELD, "lease ", lease.value, " is not held by this session");
}

}  // namespace

void note_departure(Core& core, std::uint32_t lease_slot) {
  const Lease& lease = core.leases.at(lease_slot);
  const auto& life = core.exports.at(lease.exported).life;
  if (life == nullptr || lease.acked_step >= life->step) return;
  if (life->departed.size() == limits::kListEntries) {
    life->more_departed = true;
    return;
  }
  const Session& session = core.sessions.at(lease.session);
  life->departed.push_back({core.leases.id_of(lease_slot), core.sessions.id_of(lease.session),
                            session.principal.uid, session.principal.gid, session.process, lease.acked_step});
}

void note_acked(Call& call, std::uint32_t export_slot, std::uint64_t before, std::uint64_t now) {
  each_wait<AcksWait>(call.core, export_slot, [&](std::uint32_t slot, const AcksWait& wait) {
    if (wait.step <= before || wait.step > now) return;
    auto& waiting = std::get<AcksWait>(call.core.waits.at(slot).what);
    if (--waiting.missing == 0) answer_acks(call, slot);
  });
}

void refuse_steps_of(Call& call, std::uint32_t export_slot, LeaseId lease) {
  each_wait<StepWait>(call.core, export_slot, [&](std::uint32_t slot, const StepWait& wait) {
    if (wait.lease != lease) return;
    const Wait taken = take_wait(call.core, slot);
    answer_wait(call, taken, failure(HB_NOT_HELD, "the lease was released while the request waited"));
  });
}

void answer_acks(Call& call, std::uint32_t wait_slot) {
  const Wait wait = take_wait(call.core, wait_slot);
  const auto& acks = std::get<AcksWait>(wait.what);
  answer_wait(call, wait, acks_of(call.core, acks.exported, acks.step, call.now));
}

Outcome publish(Call& call, Asker& asker, const PublishRequest& request) {
  Core& core = call.core;
  const auto slot = find_own(core, asker, request.id);
  if (!slot) return slot.error();
  ExportLife& life = core.exports.life_of(*slot);
  if (request.step <= life.step)
    return failure(HB_INVALID, "step ", request.step, " is not above ", life.step,
                   ", the last one published");
  life.step = request.step;
  life.departed.clear();
  life.more_departed = false;
  each_wait<StepWait>(core, *slot, [&](std::uint32_t wait_slot, const StepWait& wait) {
    if (wait.step > life.step) return;
    const Wait taken = take_wait(core, wait_slot);
    answer_wait(call, taken, StepWaited{life.step});
  });
  return Published{};
}

Outcome wait_step(Call& call, Asker& asker, const WaitStepRequest& request) {
  Core& core = call.core;
  const Lease* lease = core.leases.find(request.lease);
  if (lease == nullptr || lease->session != asker.id.slot()) return not_held(request.lease);
  const Export& e = core.exports.at(lease->exported);
  if (has_ended(e.state)) return ended_error(core, e);
  const std::uint64_t step = e.life == nullptr ? 0 : e.life->step;
  if (step >= request.step) return StepWaited{step};
  if (request.wait_ns == 0)
    return failure(HB_TIMEOUT, "step ", request.step, " is not published; the last one is ", step);
  if (auto refused =
          park(call, asker, StepWait{lease->exported, request.lease, request.step}, request.wait_ns))
    return std::move(*refused);
  return {};
}

Outcome ack_step(Call& call, Asker& asker, const AckStepRequest& request) {
  Core& core = call.core;
  Lease* lease = core.leases.find(request.lease);
  if (lease == nullptr || lease->session != asker.id.slot()) return not_held(request.lease);
  const Export& e = core.exports.at(lease->exported);
  const std::uint64_t published = e.life == nullptr ? 0 : e.life->step;
  if (request.step > published)
    return failure(HB_INVALID, "step ", request.step, " is acknowledged and not published; the last one is ",
                   published);
  const std::uint64_t before = std::exchange(lease->acked_step, std::max(lease->acked_step, request.step));
  note_acked(call, lease->exported, before, lease->acked_step);
  return failure(HB_OK);
}

Outcome wait_acks(Call& call, Asker& asker, const WaitAcksRequest& request) {
  Core& core = call.core;
  const auto slot = find_own(core, asker, request.id);
  if (!slot) return slot.error();
  const std::uint64_t published = core.exports.life_of(*slot).step;
  if (request.step > published)
    return failure(HB_INVALID, "step ", request.step, " is waited for and not published; the last one is ",
                   published);
  AcksWaited now = acks_of(core, *slot, request.step, call.now);
  if (now.missing.empty() || request.wait_ns == 0) return now;
  std::uint64_t missing = 0;
  for (std::uint32_t lease = core.exports.at(*slot).leases; lease != kNoSlot;
       lease = core.leases.at(lease).of_export.next)
    missing += core.leases.at(lease).acked_step < request.step ? 1 : 0;
  if (auto refused = park(call, asker, AcksWait{*slot, request.step, missing}, request.wait_ns))
    return std::move(*refused);
  return {};
}

}  // namespace hb::core
