// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Where an event of the program stands.
#pragma once

#include "error.h"
#include "providers/hip/runtime.h"

namespace hb::client::hip {

enum class EventState : std::uint8_t {
  kDone,
  kRunning,
  kCaptured,  // recorded in a stream capture: it says nothing
  kNone,      // no such event
  kLost,      // the device or the runtime is lost: nothing runs there any more
};

// Does not wait, and breaks no capture.
[[nodiscard]] EventState event_state(const Runtime& runtime, void* event);

// For a caller's event that something is to wait for: HB_INVALID for one that does not exist, HB_BUSY for a
// captured one.
[[nodiscard]] Result<void> check_event(const Runtime& runtime, void* event);

}  // namespace hb::client::hip
