// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Looks like a new HIP runtime and has two of its functions.
#define STUB_API extern "C" __attribute__((visibility("default")))

STUB_API int hipRuntimeGetVersion(int* version) {
  *version = 70200000;
  return 0;
}
STUB_API int hipMemCreate() { return 1; }
