// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Who may read, write or see what (design rule 7). Every question of rights is asked here.
#pragma once

#include <optional>

#include "core/broker.h"
#include "core/effect.h"
#include "core/export_table.h"
#include "core/types.h"

namespace hb::core {

struct Core;

// What `who` gets of a live export: the owner's uid all that the export gives, others what the ACL grants,
// never more than the export gives. Another scope and the admin socket get nothing.
[[nodiscard]] Access access_of(const ExportTable& exports, const Export& exported, const Principal& who);

// May `who` know of it? An ended one keeps its ACL as long as it is remembered.
[[nodiscard]] bool may_see(const ExportTable& exports, const Export& exported, const Principal& who);

// May `who` see the ACL and every holder?
[[nodiscard]] bool is_owner_or_admin(const Export& exported, const Principal& who);

// What `who` gets of the export at `slot`, and why, in words.
[[nodiscard]] AccessExplained explain_access(const ExportTable& exports, std::uint32_t slot,
                                             const Principal& who);

// The node's policy, before any access list is asked. Nothing: it may.
[[nodiscard]] std::optional<Error> refuse_verb(const Core& core, const Principal& who, Verb verb);

// Is it the same principal (scope and uid)?
[[nodiscard]] bool same_principal(const Principal& a, const Principal& b);

// Can a read-only reopening hold against this reader? Not against the owner's uid, which can reopen
// and change the mode, nor against root.
[[nodiscard]] bool reopening_binds(std::uint32_t owner_uid, std::uint32_t reader_uid);

}  // namespace hb::core
