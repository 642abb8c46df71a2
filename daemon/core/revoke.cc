// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "core/access_rules.h"
#include "core/ending.h"
#include "core/failure.h"
#include "core/lookup.h"
#include "core/ticket.h"
#include "core/verbs.h"

namespace hb::core {

Outcome revoke(Call& call, Asker& asker, const RevokeRequest& request) {
  Core& core = call.core;
  const Principal& principal = asker.session.principal;
  if (auto refused = refuse_verb(core, principal, Verb::kRevoke)) return std::move(*refused);
  const auto found = find_to_look(core, principal, request.target);
  if (!found) return found.error();
  const Export& e = core.exports.at(*found);
  if (!is_owner_or_admin(e, principal))
    return failure(HB_DENIED, "only its owner's uid (", e.owner_uid, ") or the admin revokes an export; uid ",
                   principal.uid, " may only read it");
  const bool was_current = is_current(e.state);
  if (was_current) note_revoked(call, asker, *found);
  drop_pins(call, *found, TicketEnd::kRevoked);
  if (was_current) end_export(call, *found, ExportState::kRevoked);
  return drain(call, asker, *found, false, was_current ? 1 : 0, request.grace_ns);
}

}  // namespace hb::core
