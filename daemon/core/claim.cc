// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Succession: a process of the same uid takes over an export whose owner has gone.
#include "core/access_rules.h"
#include "core/ending.h"
#include "core/event_table.h"
#include "core/export_rules.h"
#include "core/failure.h"
#include "core/lookup.h"
#include "core/staging.h"
#include "core/verbs.h"

namespace hb::core {

Outcome claim(Call& call, Asker& asker, const ClaimRequest& request) {
  Core& core = call.core;
  const Principal& principal = asker.session.principal;
  if (principal.admin) return failure(HB_DENIED, "the admin socket owns nothing: use the main socket");
  if (auto refused = refuse_verb(core, principal, Verb::kExport)) return std::move(*refused);
  if (std::holds_alternative<ExportId>(request.target))
    return failure(HB_INVALID, "an export id is no right: claim by name or key");
  const auto found = find_target(core, principal, request.target);
  if (!found) return found.error();
  Export& e = core.exports.at(found->slot);
  if (e.owner_uid != principal.uid)
    return failure(HB_DENIED, "only a process of uid ", e.owner_uid, ", the owner's, claims this export");
  if (auto refused = refuse_lifetime(core, request.lifetime, request.linger_ns, principal))
    return std::move(*refused);
  // Asked again after an answer that came too late for the caller.
  if (e.session == asker.id.slot() && e.state == ExportState::kLive) return exported_reply(core, found->slot);
  if (e.state != ExportState::kOrphaned)
    return failure(HB_EXISTS, "the export has an owner: session ", core.sessions.id_of(e.session).value,
                   ", pid ", core.sessions.at(e.session).process->pid);
  ExportLife& life = core.exports.life_of(found->slot);
  stop_linger(core, life);
  life.linger_ns = request.linger_ns;
  life.owner.reset();
  e.lifetime = request.lifetime;
  core.exports.claim(found->slot);
  link_owner(core, found->slot, asker.id.slot());
  // Keys of the old generation are STALE: what was imported by them is no answer to them any more.
  clear_words(call, found->slot);
  for (std::uint32_t lease = e.leases; lease != kNoSlot; lease = core.leases.at(lease).of_export.next)
    tell_holder(call, lease, EventKind::kClaimed);
  return exported_reply(core, found->slot);
}

}  // namespace hb::core
