// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Verbs about memory that a program made with HIP itself, past the library. Named by raw=, in the actor's
// process.
#pragma once

#include "integration/hip/gpu_verbs.h"

namespace hb::test {

// Of raw=, from offset= on, bytes= of it.
[[nodiscard]] Bytes raw_bytes(const Message& m);

void add_raw_verbs(VerbTable& table);        // made, freed
void add_raw_share_verbs(VerbTable& table);  // exported, classified, gone; those that need no runtime, too
[[nodiscard]] const std::vector<hb_hip_handle>& raw_handles(const Message& m);
void free_raw(const std::string& name);

}  // namespace hb::test
