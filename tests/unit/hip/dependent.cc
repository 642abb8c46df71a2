// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// As a framework's library: not the runtime, but dlsym() on it finds everything the runtime has.
extern "C" int hipMemRelease(void*);
extern "C" __attribute__((visibility("default"))) int hip_dependent_release() {
  return hipMemRelease(nullptr);
}
