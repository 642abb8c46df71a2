// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// From what a request names to the export that is meant, and to nothing the asker may not know of.
#pragma once

#include <cstdint>

#include "core/core.h"

namespace hb::core {

// As the length of a key: to the end, wherever that comes to be. Keys of exports that can grow have it.
inline constexpr std::uint64_t kToTheEnd = UINT64_MAX;

struct Found {
  std::uint32_t slot = kNoSlot;
  std::uint64_t offset = 0;  // the target's own range inside the export
  std::uint64_t length = 0;
  bool follows = false;            // to the end, wherever that comes to be
  std::uint32_t ticket = kNoSlot;  // it was found by
};

// Current exports the asker may at least read; the order of checks is design rule 7.
[[nodiscard]] tl::expected<Found, Error> find_by_key(const Core& core, const Principal& who,
                                                     const KeyBytes& key);
[[nodiscard]] tl::expected<Found, Error> find_by_name(const Core& core, const Principal& who,
                                                      const NameRef& name);
[[nodiscard]] tl::expected<Found, Error> find_by_id(const Core& core, const Principal& who, ExportId id);
[[nodiscard]] tl::expected<Found, Error> find_target(const Core& core, const Principal& who,
                                                     const Target& target);

// For those who look or take back: also an export that has ended. Of a name the one that bears it, else the
// last one to end of those that are held still, else the last one that bore it.
[[nodiscard]] tl::expected<std::uint32_t, Error> find_to_look(const Core& core, const Principal& who,
                                                              const Target& target);

// A current export of the asking session, by id.
[[nodiscard]] tl::expected<std::uint32_t, Error> find_own(const Core& core, const Asker& asker, ExportId id);

// What is said of an ended one to whoever could read it: GONE, REVOKED, or STALE where its name went on.
[[nodiscard]] Error ended_error(const Core& core, const Export& exported);

struct Range {
  std::uint64_t offset = 0;  // inside the export
  std::uint64_t length = 0;
  std::uint32_t first_chunk = 0;
  std::uint32_t chunk_count = 0;
};
// `offset` and `length` (0 = to the end) inside the target.
[[nodiscard]] tl::expected<Range, Error> range_in(const Export& exported, const Found& target,
                                                  std::uint64_t offset, std::uint64_t length);

}  // namespace hb::core
