// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// A stand-in for AMD's HIP runtime (libamdhip64.so.6 and .so.7, libhsa-runtime64.so.1) over memfds, with
// the faults of each version. How a test uses it:
//
//   LD_LIBRARY_PATH=<build>/tests/fake_hip/{v6,v7}   or dlopen by path. The HSA half lies beside it and is
//                              loaded with it, as in ROCm; FAKE_HIP_NO_HSA=1 leaves it out.
//   FAKE_HIP_VERSION=7.1       6.2, 7.0, 7.1, 7.2, 7.14, 7.15 or any between; a third number is the patch.
//                              Default: 6.2 from the .so.6, 7.2 from the .so.7.
//   FAKE_HIP_DEVICES=FILE      or the text itself; format in devices.h. Default: four GPUs that all see each
//                              other. ROCR_, HIP_ and CUDA_VISIBLE_DEVICES filter as in ROCm.
//   FAKE_HIP_STATE=name        processes with the same name share the machine: their memory adds up.
//   FAKE_HIP_SWITCHES=a=1,b=0  quirks and switches by name; all names are in quirks.cc.
//   FAKE_HIP_FAIL=f:k[:code[:how]],...  the k-th call of f (or of "any") answers code (default 999).
//                              how: skip (not done; the default), done (done, yet the error; the default of
//                              calls that give something back), late (hipMemMap: the error shows at
//                              hipMemSetAccess), partial (hipMemSetAccess: the first descriptor is granted).
//   FAKE_HIP_TRACE=file        one line a call, appended: "pid tid name(arguments) = code".
//   FAKE_HIP_STRICT=0          a leak or a violation is told at exit, but leaves the exit status alone.
//
// At exit every object left over and every wrong use is told on stderr and the exit status becomes
// kComplaintExit; _exit() and death by signal skip that. Where real runtimes crash, the fake aborts.
// Memory is a sealed memfd (SHRINK | GROW | SEAL) named "fakehip.<device line>.<number>"; what a device
// holds is counted by the kernel (accounting.h), so it is right after SIGKILL and for unread messages.
// HIP calls in a child forked after the first HIP call answer hipErrorNotInitialized.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hb::fakehip {
inline constexpr int kComplaintExit = 97;
}

extern "C" {
// "name=value[,name=value...]": a quirk or switch of quirks.cc, or
//   fail=<as FAKE_HIP_FAIL, ';' between entries>   starts counting calls anew; "fail=" ends it
//   busy=<stream in hex | all> / idle=<same>       work that does not end until told so
//   hang=<function>                                every call of it from now on waits until hang= names
//   another forget=1                                       violations recorded so far are dropped
// 0, or -1 with a line on stderr for an unknown name.
int fake_hip_control(const char* text);

// How many there are now, in this process: "handles", "imports", "mappings", "reservations", "reserved"
// (their bytes), "mallocs", "pool", "host", "streams", "events", "externals", "violations", "faults",
// "null_stream" (uses of it), "waiting" (calls that wait for a busy stream or hang just now), "vault"
// (descriptors kept out of the table), "calls", "calls:<function>". -1: unknown word.
long long fake_hip_count(const char* what);

// Bytes held on a device of the description (its line, not the HIP ordinal), by all processes.
unsigned long long fake_hip_device_bytes(int line);

// The complaint text to stderr; returns the number of leaks and violations. `streams_too`: also streams
// and events that were not destroyed.
int fake_hip_report(int streams_too);

// The sysfs tree that matches the devices: root/sys/class/kfd/..., root/sys/class/drm/...; 0 or -1 and errno.
int fake_hip_write_sysfs(const char* root);
}
