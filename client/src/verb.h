// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#pragma once

#include "wire/frame.h"

namespace hb::client {

// What a request is called in sentences for people: "the daemon did not answer the refresh".
[[nodiscard]] const char* verb(FrameType type);

}  // namespace hb::client
