// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#pragma once

#include "hipbroker/status.h"

namespace hb::cli {

// How every program of this project exits. The numbers are fixed for ever: scripts and health checks branch
// on them.
enum Exit : int {
  kOk = 0,
  kRefused = 1,     // the daemon answered no (doctor: warnings)
  kBroken = 2,      // doctor: something does not work
  kStillHeld = 3,   // done, and somebody still maps the memory
  kNotAllowed = 4,  // check-policy: the verdict is no
  kWouldLose = 5,   // drain: a restart would lose something
  kUsage = 64,      // the command line is wrong
  kNoDaemon = 69,   // nobody answers
  kLocal = 71,      // something failed on this side, before or after the daemon
};

[[nodiscard]] constexpr int exit_code_of(hb_status status) {
  switch (status) {
    case HB_OK:
      return kOk;
    case HB_INVALID:
      return kUsage;
    case HB_NO_DAEMON:
    case HB_TIMEOUT:
    case HB_CLOSED:
      return kNoDaemon;
    case HB_UNTRUSTED:  // nothing was sent: no daemon has refused anything
    case HB_PROTO:
    case HB_FORKED:
    case HB_NO_MEMORY:
    case HB_SYSTEM:
    case HB_INTERNAL:
      return kLocal;
    default:
      return kRefused;
  }
}

}  // namespace hb::cli
