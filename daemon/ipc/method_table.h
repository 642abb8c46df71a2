// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// What each frame type may do, as data.
#pragma once

#include <cstdint>

#include "wire/frame.h"

namespace hb::ipc {

// Of a Hello and its answer: the session outlives the daemon.
inline constexpr const char* kResumeFeature = "resume";

struct Method {
  FrameType type{};
  const char* name = "";
  bool needs_hello = true;
  bool admin_only = false;
  bool allows_fds = false;
  bool mutating = false;  // answered again when sent again: (session, request id)
  bool one_way = false;   // no answer, whatever comes of it
};

// Null for a type this daemon does not know.
[[nodiscard]] const Method* find_method(FrameType type);

}  // namespace hb::ipc
