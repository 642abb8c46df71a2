// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Making leases: the one place where something is granted, whoever asked for it and how.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "core/core.h"
#include "core/lookup.h"

namespace hb::core {

// Nothing, or why `who` does not get `want` of it.
[[nodiscard]] std::optional<Error> refuse_access(const Core& core, const Export& exported,
                                                 const Principal& who, Access want);

// The weakest read-only level over the chunks of the range. A fact says what holds now; without one a
// reader's restraint is all there is.
[[nodiscard]] Level level_of(const Core& core, const Export& exported, const Range& range,
                             const Principal& who, const std::vector<ReadOnlyFact>& facts);

// The allocations of these chunks whose level a fact can change for this reader.
[[nodiscard]] std::vector<Broker::Candidate> candidates_in(const Core& core, const Export& exported,
                                                           std::span<const Chunk> chunks,
                                                           const Principal& who);

struct Terms {
  Range range;
  Access access = Access::kRead;
  Level level = Level::kNone;
  bool follows = false;
  bool pins = false;  // by a ticket
};
// A lease of that session, its validity word set where the export has not ended; or the quota's refusal.
[[nodiscard]] tl::expected<LeaseId, Error> grant(Call& call, SessionId session, std::uint32_t export_slot,
                                                 const Terms& terms);

// What its holder is told of it. `max_handles` 0: without a page.
// What its validity word has to be.
[[nodiscard]] std::uint32_t word_of(const Core& core, const Lease& lease);
[[nodiscard]] Acquired describe_lease(Core& core, LeaseId id, std::uint32_t max_handles);

}  // namespace hb::core
