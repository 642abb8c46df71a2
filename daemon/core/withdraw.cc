// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include <algorithm>

#include "core/access_rules.h"
#include "core/ending.h"
#include "core/failure.h"
#include "core/lookup.h"
#include "core/staging.h"
#include "core/verbs.h"
#include "core/view.h"
#include "wire/limits.h"

namespace hb::core {

namespace {

// Of all exports of a session, the holders of those that came first.
void withdraw_one(Call& call, std::uint32_t slot, Withdrawn& out) {
  end_export(call, slot, ExportState::kWithdrawn);
  Withdrawn left = holders_left(call.core, slot, false, call.now);
  ++out.exports;
  out.holder_count += left.holder_count;
  for (Holder& holder : left.holders)
    if (out.holders.size() < limits::kListEntries) out.holders.push_back(holder);
  out.more_holders = out.holder_count > out.holders.size();
}

}  // namespace

Outcome withdraw(Call& call, Asker& asker, const WithdrawRequest& request) {
  Core& core = call.core;
  const Principal& principal = asker.session.principal;
  if (principal.admin)
    return failure(
        HB_UNSUPPORTED,
        "the admin socket does not withdraw: an export ends with its owner's session, or by revoke");
  if (request.all) {
    if (request.wait_ns != 0) return failure(HB_INVALID, "to wait for holders name one export, not all");
    Outcome outcome;
    outcome.after_close = true;
    Withdrawn withdrawn;
    while (asker.session.exports != kNoSlot) withdraw_one(call, asker.session.exports, withdrawn);
    outcome.body = std::move(withdrawn);
    return outcome;
  }
  if (std::holds_alternative<KeyBytes>(request.target))
    return failure(HB_INVALID, "a key does not withdraw: name the export by id or name");
  if (const auto* id = std::get_if<ExportId>(&request.target)) {
    const Staging* sending = staging_of(core, asker.session, *id);
    if (sending != nullptr && sending->change == ChangeRequest::Kind::kNone)
      return failure(HB_BUSY, "export ", id->value, " is still being sent: abort it instead");
  }
  auto found = find_target(core, principal, request.target);
  if (!found) return std::move(found.error());
  const Export& e = core.exports.at(found->slot);
  if (e.owner_uid != principal.uid)
    return failure(HB_DENIED, "only its owner withdraws an export; uid ", principal.uid, " may only read it");
  if (e.session == kNoSlot) return failure(HB_DENIED, "its owner has gone: claim it first, or revoke it");
  if (e.session != asker.id.slot())
    return failure(HB_DENIED, "another session owns it: session ", core.sessions.id_of(e.session).value,
                   ", pid ", core.sessions.at(e.session).process->pid, "; revoke takes it back all the same");
  end_export(call, found->slot, ExportState::kWithdrawn);
  return drain(call, asker, found->slot, false, 1, request.wait_ns);
}

}  // namespace hb::core
