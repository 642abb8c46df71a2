// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#pragma once

namespace hb::probe {

// Memory of `owner` against every other GPU of this process, from ordinal `first` on: a line "pair" each
// (providers/hip/peers.h), a line "begin OTHER what" before everything that might crash.
void run_peers(int owner, int first);

}  // namespace hb::probe
