// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "providers/hip/event.h"

#include "providers/hip/driver.h"

namespace hb::client::hip {

EventState event_state(const Runtime& runtime, void* event) {
  const DriverScope scope(runtime.hip(), DriverScope::kAnyDevice, Lock::kNo);
  const HipError code = runtime.hip().hipEventQuery(event);
  if (code == kSuccess) return EventState::kDone;
  if (code == kNotReady) return EventState::kRunning;
  if (code >= kStreamCaptureUnsupported && code <= kStreamCaptureLast) return EventState::kCaptured;
  return code == kInvalidHandle || code == kInvalidValue ? EventState::kNone : EventState::kLost;
}

Result<void> check_event(const Runtime& runtime, void* event) {
  if (runtime.hip().hipEventQuery == nullptr)
    return fail(HB_UNSUPPORTED, runtime.name() + " has no hipEventQuery");
  switch (event_state(runtime, event)) {
    case EventState::kNone:
      return fail(HB_INVALID, "event is none of this process: hipEventQuery does not know it");
    case EventState::kCaptured:
      return fail(HB_BUSY,
                  "event was recorded in a stream capture, where nothing runs: record it in a stream");
    case EventState::kDone:
    case EventState::kRunning:
    case EventState::kLost:
      break;
  }
  return {};
}

}  // namespace hb::client::hip
