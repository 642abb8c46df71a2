// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Requests that are answered later: parked, answered, expired.
#pragma once

#include <optional>

#include "core/core.h"

namespace hb::core {

// Those of one kind that wait for an export. `visit` may take its own wait out, no other.
template <class Kind, class Visit>
void each_wait(Core& core, std::uint32_t export_slot, Visit visit) {
  const auto& life = core.exports.at(export_slot).life;
  if (life == nullptr) return;
  for (std::uint32_t slot = life->waits; slot != kNoSlot;) {
    const std::uint32_t next = core.waits.at(slot).of_line.next;
    if (const auto* what = std::get_if<Kind>(&core.waits.at(slot).what)) visit(slot, *what);
    slot = next;
  }
}

// wait.cc
// Parked until the export's list of waits is looked through again, or the deadline. The refusal, or nothing.
[[nodiscard]] std::optional<Error> park(Call& call, Asker& asker, DrainWait what, std::uint64_t wait_ns,
                                        bool mutating);
[[nodiscard]] std::optional<Error> park(Call& call, Asker& asker, StepWait what, std::uint64_t wait_ns);
[[nodiscard]] std::optional<Error> park(Call& call, Asker& asker, AcksWait what, std::uint64_t wait_ns);
// The slot: the group keeps it.
[[nodiscard]] tl::expected<std::uint32_t, Error> park(Call& call, Asker& asker, MemberWait what,
                                                      std::uint64_t wait_ns, bool mutating);
[[nodiscard]] Outcome park(Call& call, Asker& asker, AcquireRequest& request);
[[nodiscard]] bool is_parked(const Core& core, const Session& session, std::uint64_t request_id);
// Of a wait that was taken out.
void answer_wait(Call& call, const Wait& wait, ReplyBody body, bool after_close = false);
void wake_waiters(Call& call, std::uint32_t export_slot);
void expire_wait(Call& call, std::uint32_t slot);
void cancel(Call& call, Asker& asker, const CancelRequest& request);

// drain.cc
// Leases that are left on an export; of a suspended one those that have not unmapped.
[[nodiscard]] Withdrawn holders_left(const Core& core, std::uint32_t export_slot, bool unmapped, Time now);
// Answers with them, at once or when none is left or the time is over.
[[nodiscard]] Outcome drain(Call& call, Asker& asker, std::uint32_t export_slot, bool unmapped,
                            std::uint64_t exports, std::uint64_t wait_ns);
void answer_drain(Call& call, std::uint32_t wait_slot);
void answer_drains(Call& call, std::uint32_t export_slot, bool unmapped);
// A holder that was asked to unmap did, or its lease ended.
void note_unmapped(Call& call, std::uint32_t export_slot);
// The export ends: what waited for something of it that cannot come any more is told.
void refuse_waits(Call& call, std::uint32_t export_slot, ExportState as);

// steps.cc
// A lease ends: if it has not acknowledged the step published last, that is kept for who waits for all.
void note_departure(Core& core, std::uint32_t lease_slot);
// A lease that had acknowledged `before` acknowledges `now`; one that ends is waited for no more: kNever.
void note_acked(Call& call, std::uint32_t export_slot, std::uint64_t before, std::uint64_t now);
// A lease ends: what waits for a step by it is told.
void refuse_steps_of(Call& call, std::uint32_t export_slot, LeaseId lease);
void answer_acks(Call& call, std::uint32_t wait_slot);

// group_end.cc
void expire_meeting(Call& call, MemberWait member);
void cancel_member(Call& call, MemberWait member);
// The session ends: its groups end for all.
void leave_groups(Call& call, Session& session);
// A current export of a session ends: so do the groups it is offered to.
void end_groups_of(Call& call, std::uint32_t export_slot, ExportState as);

}  // namespace hb::core
