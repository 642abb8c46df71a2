// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Waiting for holders: to give an ended export back, or to unmap one that is suspended.
#include "core/ending.h"
#include "core/failure.h"
#include "core/verbs.h"
#include "core/view.h"
#include "wire/limits.h"

namespace hb::core {

namespace {

bool is_left(const Lease& lease, bool unmapped) { return !unmapped || lease.unmap_asked; }

}  // namespace

Withdrawn holders_left(const Core& core, std::uint32_t export_slot, bool unmapped, Time now) {
  const Export& e = core.exports.at(export_slot);
  Withdrawn out;
  out.layout_version = e.layout_version;
  for (std::uint32_t slot = e.leases; slot != kNoSlot; slot = core.leases.at(slot).of_export.next) {
    if (!is_left(core.leases.at(slot), unmapped)) continue;
    ++out.holder_count;
    if (out.holders.size() < limits::kListEntries) out.holders.push_back(holder_of(core, slot, now));
  }
  // What is asleep is not pinned by tickets: nothing is left that could be unmapped for one.
  if (!unmapped && e.life != nullptr)
    for (std::uint32_t slot = e.life->tickets; slot != kNoSlot; slot = core.tickets.at(slot).of_export.next) {
      ++out.holder_count;
      if (out.holders.size() < limits::kListEntries) out.holders.push_back(holder_of_ticket(core, slot, now));
    }
  out.more_holders = out.holder_count > out.holders.size();
  return out;
}

Outcome drain(Call& call, Asker& asker, std::uint32_t export_slot, bool unmapped, std::uint64_t exports,
              std::uint64_t wait_ns) {
  Withdrawn left = holders_left(call.core, export_slot, unmapped, call.now);
  left.exports = exports;
  if (left.holder_count != 0 && wait_ns != 0) {
    if (auto refused = park(call, asker, DrainWait{export_slot, unmapped, exports}, wait_ns, true))
      return std::move(*refused);
    return {};
  }
  Outcome outcome(std::move(left));
  outcome.after_close = true;
  return outcome;
}

void answer_drain(Call& call, std::uint32_t wait_slot) {
  const Wait wait = take_wait(call.core, wait_slot);
  const DrainWait& drain = std::get<DrainWait>(wait.what);
  Withdrawn left = holders_left(call.core, drain.exported, drain.unmapped, call.now);
  left.exports = drain.exports;
  answer_wait(call, wait, std::move(left), true);
}

void answer_drains(Call& call, std::uint32_t export_slot, bool unmapped) {
  each_wait<DrainWait>(call.core, export_slot, [&](std::uint32_t slot, const DrainWait& drain) {
    if (drain.unmapped == unmapped) answer_drain(call, slot);
  });
}

void note_unmapped(Call& call, std::uint32_t export_slot) {
  ExportLife& life = call.core.exports.life_of(export_slot);
  if (life.unmap_asked == 0 || --life.unmap_asked != 0) return;
  answer_drains(call, export_slot, true);
}

void refuse_waits(Call& call, std::uint32_t export_slot, ExportState as) {
  const auto refuse = [&](std::uint32_t slot) {
    const Wait wait = take_wait(call.core, slot);
    answer_wait(call, wait,
                failure(as == ExportState::kRevoked ? HB_REVOKED : HB_GONE, "the export ended (",
                        state_name(as), ") while the request waited"));
  };
  each_wait<StepWait>(call.core, export_slot, [&](std::uint32_t slot, const StepWait&) { refuse(slot); });
  each_wait<AcksWait>(call.core, export_slot, [&](std::uint32_t slot, const AcksWait&) { refuse(slot); });
  each_wait<DrainWait>(call.core, export_slot, [&](std::uint32_t slot, const DrainWait& drain) {
    if (drain.unmapped) refuse(slot);
  });
}

}  // namespace hb::core
