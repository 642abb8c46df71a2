// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// What the files of the GPU actor share.
#pragma once

#include "support/actor_verbs.h"
#include "unit/fake_hip/hip_child.h"

namespace hb::test {

// The runtime that this process has loaded.
[[nodiscard]] Hip& hip();

// Streams, events, and what waits for them; threads and forked children.
void add_async_verbs(VerbTable& table);
void add_fork_verbs(VerbTable& table);

}  // namespace hb::test
