// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// The states of an export and what may follow what. docs/lifecycle.md holds the same table for people.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace hb::core {

// Values go on the wire and are fixed for ever.
enum class ExportState : std::uint8_t {
  kNew = 0,
  kLive = 1,
  kStaging = 2,    // pages are still to come; nobody sees it, its name is reserved
  kGone = 3,       // ended with its owner, or when nobody claimed it in time
  kSuspended = 4,  // asleep: no chunks, the name and the key are kept
  kOrphaned = 5,   // its owner has gone; to be acquired and to be claimed
  kWithdrawn = 6,  // ended by its owner
  kRevoked = 7,    // taken back by its owner's uid or the admin
};
inline constexpr std::array kExportStates{
    ExportState::kNew,       ExportState::kLive,     ExportState::kStaging,   ExportState::kGone,
    ExportState::kSuspended, ExportState::kOrphaned, ExportState::kWithdrawn, ExportState::kRevoked};

// The daemon hands nothing of it out any more. Leases may be left; what remains is remembered for a while.
[[nodiscard]] constexpr bool has_ended(ExportState state) {
  return state == ExportState::kGone || state == ExportState::kWithdrawn || state == ExportState::kRevoked;
}
// It has its name and its key.
[[nodiscard]] constexpr bool is_current(ExportState state) {
  return state == ExportState::kLive || state == ExportState::kSuspended || state == ExportState::kOrphaned;
}
[[nodiscard]] constexpr bool can_be_acquired(ExportState state) {
  return state == ExportState::kLive || state == ExportState::kOrphaned;
}

[[nodiscard]] constexpr bool may_follow(ExportState from, ExportState to) {
  switch (from) {
    case ExportState::kNew:
      return to == ExportState::kLive || to == ExportState::kStaging;
    case ExportState::kStaging:
      return to == ExportState::kLive;
    case ExportState::kLive:
      return to == ExportState::kSuspended || to == ExportState::kOrphaned || has_ended(to);
    case ExportState::kSuspended:
      // Its memory is with the owner, or nowhere: it does not outlive the owner, whatever its lifetime.
      return to == ExportState::kLive || has_ended(to);
    case ExportState::kOrphaned:
      return to == ExportState::kLive || has_ended(to);
    case ExportState::kGone:
    case ExportState::kWithdrawn:
    case ExportState::kRevoked:
      return false;
  }
  return false;
}

[[nodiscard]] constexpr std::string_view state_name(ExportState state) {
  switch (state) {
    case ExportState::kNew:
      return "new";
    case ExportState::kLive:
      return "live";
    case ExportState::kStaging:
      return "staging";
    case ExportState::kGone:
      return "gone";
    case ExportState::kSuspended:
      return "suspended";
    case ExportState::kOrphaned:
      return "orphaned";
    case ExportState::kWithdrawn:
      return "withdrawn";
    case ExportState::kRevoked:
      return "revoked";
  }
  return "unknown";
}

}  // namespace hb::core
