// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#pragma once

namespace hb::probe {

// The whole trial on a device of this process. What cannot be tried is left out of the report.
void run(int ordinal);

// Loads the runtime and asks for its GPUs; a crash or a hang is the answer.
void start();

}  // namespace hb::probe
