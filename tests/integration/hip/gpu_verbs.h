// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// What the verbs of a process with GPUs share. Private to the files of the role gpu_actor.
#pragma once

#include <cstddef>

#include "support/actor_verbs.h"
#include "unit/fake_hip/hip_child.h"

namespace hb::test {

// The runtime that the actor has loaded.
[[nodiscard]] Hip& hip();
// Copies as a program would: on a device that has been let in. The caller's current device is kept.
[[nodiscard]] HipError copy_on(int device, void* to, const void* from, std::size_t bytes);

// The device of every verb that names none: not the first, so that memory has to be put there.
inline constexpr int kDefaultDevice = 2;

// The verbs about memory of every actor, with the same words, on GPU memory and by copies.
void add_gpu_memory_verbs(VerbTable& table);
// What only a program with GPUs does: streams, captures, current devices, threads.
void add_gpu_guest_verbs(VerbTable& table);
// Streams, events, and what waits for them; threads and forked children.
void add_async_verbs(VerbTable& table);
void add_fork_verbs(VerbTable& table);

}  // namespace hb::test
