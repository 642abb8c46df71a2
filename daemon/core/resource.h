// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// What is charged to who uses it. The words are those of configuration, wire and error messages.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "wire/limits.h"

namespace hb::core {

enum class Resource : std::uint8_t {
  kSessions,
  kExports,
  kChunks,
  kBytes,        // of allocations, each once to every principal that exports it
  kDescriptors,  // likewise: what the daemon keeps open for it
  kLeases,
  kStagings,
  kWaits,
  kTickets,
  kGroups,
  kEvents,
  kRequests,  // received and not answered; the edge counts them
  kConnects,  // a second; the edge counts them
};
inline constexpr std::size_t kResources = 13;

struct ResourceText {
  std::string_view key;      // one word
  std::string_view phrase;   // "limit of ... reached"
  std::string_view way_out;  // for who has reached it
};

// What one principal may use of each, over all its sessions.
class LimitSet {
 public:
  [[nodiscard]] static const LimitSet& built_in();
  // Nothing is limited: of a scope that got no limits of its own.
  [[nodiscard]] static LimitSet unlimited() {
    LimitSet set;
    set.most_.fill(UINT64_MAX);
    return set;
  }
  [[nodiscard]] constexpr std::uint64_t of(Resource resource) const {
    return most_[static_cast<std::size_t>(resource)];
  }
  constexpr void set(Resource resource, std::uint64_t most) {
    most_[static_cast<std::size_t>(resource)] = most;
  }
  bool operator==(const LimitSet&) const = default;

 private:
  std::array<std::uint64_t, kResources> most_{};
};

namespace resource_detail {
inline constexpr std::array<ResourceText, kResources> kTexts{{
    {"sessions", "sessions", "close some"},
    {"exports", "exports", "withdraw some"},
    {"chunks", "chunks", "withdraw exports, or use larger chunks"},
    {"bytes", "bytes", "withdraw exports"},
    {"descriptors", "descriptors", "withdraw exports, or use larger chunks"},
    {"leases", "leases", "release some"},
    {"stagings", "exports half sent", "finish or abort one"},
    {"waits", "waiting requests", "cancel one"},
    {"tickets", "tickets", "drop some, or wait until they are used or expire"},
    {"groups", "groups joined", "leave one"},
    {"events", "events not taken", "take them"},
    {"requests", "unanswered requests", "wait for answers"},
    {"connects", "connections a second", "keep one connection and use it"},
}};
}  // namespace resource_detail

[[nodiscard]] constexpr const ResourceText& text_of(Resource resource) {
  return resource_detail::kTexts[static_cast<std::size_t>(resource)];
}

[[nodiscard]] constexpr std::optional<Resource> resource_of(std::string_view key) {
  for (std::size_t i = 0; i < kResources; ++i)
    if (resource_detail::kTexts[i].key == key) return static_cast<Resource>(i);
  return std::nullopt;
}

}  // namespace hb::core
