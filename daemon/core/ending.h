// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// How things end: leases, exports, stagings, waits. Each leaves no trace but what is remembered on purpose.
#pragma once

#include <cstdint>

#include "core/core.h"

namespace hb::core {

// Clears the validity word (unless the session is ending) and forgets the lease. An ended export that nothing
// holds any more is only remembered from then on, and who waits for that is answered.
// Of a session that ends: what it sends and what it holds; then, once it has no exports either, itself.
void drop_holdings(Call& call, Session& session);
void end_session(Call& call, std::uint32_t slot);

void end_lease(Call& call, std::uint32_t slot);

// Of a current export: its key is dead, its name free, its holders are told. Leases stay until they are given
// back. Chunks go, unless a ticket or what came of one pins them; handles are gathered.
void end_export(Call& call, std::uint32_t slot, ExportState as);

// Its owner's session has gone: it ends, or waits for a claim, by its lifetime.
// Who it was, for those who ask when the session is gone.
void keep_owner(Core& core, std::uint32_t export_slot);
// Nobody has to come for it any more.
void stop_linger(Core& core, ExportLife& life);
// A change half sent is void when its export goes.
void drop_changes_of(Call& call, std::uint32_t export_slot);
void leave_export(Call& call, std::uint32_t slot);

// Nobody claimed it in time.
void expire_orphan(Call& call, std::uint32_t slot);

void release_chunks(Call& call, std::uint32_t slot);
// An ended export may have nothing left that pins its chunks, or that holds it at all.
void settle_end(Call& call, std::uint32_t slot);

// The validity word of a lease: what was granted is not current any more.
void clear_word(Call& call, std::uint32_t lease_slot);
// The validity words of all its leases: nothing of what was granted is current any more.
void clear_words(Call& call, std::uint32_t export_slot);

// Puts an export among its owner's, and takes it out.
void link_owner(Core& core, std::uint32_t slot, std::uint32_t session);
void unlink_owner(Core& core, std::uint32_t slot);

// A staging that failed or was given up: chunks, promises and the reservation of the name go.
void drop_staging(Call& call, Session& session, Staging* staging);

// What the sessions of a scope left: orphans, tickets and all that is remembered of it.
void end_scope(Call& call, ScopeId scope);

// Takes a wait out of its line or list, its session and the deadlines.
[[nodiscard]] Wait take_wait(Core& core, std::uint32_t slot);

}  // namespace hb::core
