// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// A runtime that dies of the first question.
#include <cstdlib>

#define CRASHING_API extern "C" __attribute__((visibility("default")))

CRASHING_API int hipMemCreate() { return 1; }
CRASHING_API int hipRuntimeGetVersion(int*) { std::abort(); }
