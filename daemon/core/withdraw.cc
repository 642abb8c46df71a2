// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include <algorithm>

#include "core/access_rules.h"
#include "core/ending.h"
#include "core/failure.h"
#include "core/lookup.h"
#include "core/verbs.h"
#include "core/view.h"
#include "wire/limits.h"

namespace hb::core {

namespace {

void withdraw_one(Call& call, std::uint32_t slot, Withdrawn& out) {
  Core& core = call.core;
  for (std::uint32_t lease = core.exports.at(slot).leases; lease != kNoSlot;
       lease = core.leases.at(lease).of_export.next) {
    if (out.holders.size() == limits::kListEntries) {
      out.more_holders = true;
      break;
    }
    out.holders.push_back(holder_of(core, lease, call.now));
  }
  end_export(call, slot);
  ++out.exports;
}

Outcome done(Withdrawn withdrawn) {
  Outcome outcome(std::move(withdrawn));
  outcome.after_close = true;
  return outcome;
}

}  // namespace

Outcome withdraw(Call& call, Asker& asker, const WithdrawRequest& request) {
  Core& core = call.core;
  const Principal& principal = asker.session.principal;
  if (principal.admin)
    return failure(
        HB_UNSUPPORTED,
        "the admin socket does not withdraw: an export ends with its owner's session, or by revoke "
        "where the daemon has it");
  Withdrawn withdrawn;
  if (request.all) {
    while (asker.session.exports != kNoSlot) withdraw_one(call, asker.session.exports, withdrawn);
    return done(std::move(withdrawn));
  }
  if (std::holds_alternative<KeyBytes>(request.target))
    return failure(HB_INVALID, "a key does not withdraw: name the export by id or name");
  if (const auto* id = std::get_if<ExportId>(&request.target)) {
    const auto sending =
        std::find_if(asker.session.stagings.begin(), asker.session.stagings.end(),
                     [&](const auto& staging) { return core.exports.id_of(staging->exported) == *id; });
    if (sending != asker.session.stagings.end())
      return failure(HB_BUSY, "export ", id->value, " is still being sent: abort it instead");
  }
  auto found = find_target(core, principal, request.target);
  if (!found) return std::move(found.error());
  const Export& e = core.exports.at(found->slot);
  if (e.owner_uid != principal.uid)
    return failure(HB_DENIED, "only its owner withdraws an export; uid ", principal.uid, " may only read it");
  if (e.session != asker.id.slot())
    return failure(HB_DENIED, "another session owns it: session ", core.sessions.id_of(e.session).value,
                   ", pid ", core.sessions.at(e.session).process->pid);
  withdraw_one(call, found->slot, withdrawn);
  return done(std::move(withdrawn));
}

}  // namespace hb::core
