// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// The places between two steps of an event where the daemon may end. In the daemon that is shipped passing one
// does nothing; a daemon of the tests ends itself there, and the next one has to go on as if nothing had been.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace hb::restart {

enum class CrashPoint : std::uint8_t {
  kReceived,   // a packet is out of its socket, nobody has looked at it
  kApplied,    // the core has decided, nothing is kept of it
  kParking,    // before any system call that changes a parking queue
  kParked,     // new descriptors are parked, the records do not know them
  kRecorded,   // the records know all
  kUnparked,   // what has ended is not parked any more, and is still open
  kCarriedOut, // answers are sent
  kSessionParked,  // a new session's socket is parked, the records do not know the session
  kTakenOver,      // of a start: all is as it was, nobody has been told
};

inline constexpr std::array<std::string_view, 9> kCrashPointNames{
    "received", "applied", "parking", "parked", "recorded", "unparked", "carried-out", "session-parked",
    "taken-over"};

void crash_point(CrashPoint point);

}  // namespace hb::restart
