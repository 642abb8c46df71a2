// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// As a framework's library: not the runtime, but dlsym() on it finds everything the runtime has.
extern "C" {
int hipMemCreate(void*, unsigned long, const void*, unsigned long long);
int hipRuntimeGetVersion(int*);
__attribute__((visibility("default"))) int hip_dependent_use() {
  return hipRuntimeGetVersion(nullptr) + hipMemCreate(nullptr, 0, nullptr, 0);
}
}
