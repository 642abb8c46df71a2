// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// What all entry points of the shim share. It is a libamdhip64 whose calls end in libcuda, so that a program
// written for AMD's runtime runs unmodified on the memory of an NVIDIA GPU:
//
//   HIP_SHIM_VERSION=7.2    what hipRuntimeGetVersion reports (default: 6.2 from the .so.6, 7.2 from the
//                           .so.7). Below 7.1 import reads the descriptor through its argument, from 7.1 on
//                           the argument is the descriptor; the CPU is a location from 7.2 on; before 7.12
//                           hipMemRetainAllocationHandle adds no reference.
//   HIP_SHIM_LIBCUDA=FILE   another file than libcuda.so.1
//   HIP_SHIM_TRACE=1        each call that fails, to standard error
//
// It checks arguments as AMD's runtime does. Its descriptors are NVIDIA's: character devices without a size.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>

#include "fake_hip/abi.h"
#include "gpu/shim/cuda_api.h"

#define SHIM_API extern "C" __attribute__((visibility("default")))

namespace hb::shim {

using fakehip::HipError;

struct Cuda {
#define HB_CUDA_MEMBER(name, parameters) cuda::Result(*name) parameters = nullptr;
  using Device = cuda::Device;
  using DevicePtr = cuda::DevicePtr;
  using MemHandle = cuda::MemHandle;
  using Context = cuda::Context;
  using Stream = cuda::Stream;
  using Event = cuda::Event;
  using ExternalMemory = cuda::ExternalMemory;
  using Uuid = cuda::Uuid;
  using Location = cuda::Location;
  using AccessDesc = cuda::AccessDesc;
  using AllocationProp = cuda::AllocationProp;
  using ExternalHandleDesc = cuda::ExternalHandleDesc;
  using ExternalBufferDesc = cuda::ExternalBufferDesc;
  using DeviceAttribute = cuda::DeviceAttribute;
  using PointerAttribute = cuda::PointerAttribute;
  using HandleType = cuda::HandleType;
  using RangeHandleType = cuda::RangeHandleType;
  HB_CUDA_FUNCTIONS(HB_CUDA_MEMBER)
#undef HB_CUDA_MEMBER
};

// The table; all null when start() failed.
[[nodiscard]] const Cuda& cu();
// Loads libcuda and starts it, once: anything but success is "no GPU", as AMD's runtime says it.
[[nodiscard]] HipError start();
[[nodiscard]] int device_count();
// Makes the thread's current device the one CUDA works on.
[[nodiscard]] HipError enter();
[[nodiscard]] int current_device();
void set_current_device(int ordinal);
[[nodiscard]] int version();

[[nodiscard]] HipError convert(cuda::Result result);
// Remembers an error as the thread's last one; success leaves that as it was.
HipError done(HipError code, const char* call);
HipError take_last_error();
[[nodiscard]] HipError last_error();

inline cuda::DevicePtr address(const void* ptr) { return reinterpret_cast<std::uintptr_t>(ptr); }

// What a hipMemGenericAllocationHandle_t points to. The caller and each mapping hold one reference.
struct Allocation {
  cuda::MemHandle handle = 0;
  fakehip::AllocationProp prop{};
  bool imported = false;
  int references = 1;
};
struct Mapping {
  std::size_t bytes = 0;
  Allocation* allocation = nullptr;
};
// Mappings by their first byte; the lock guards them and every Allocation.
struct Mappings {
  std::mutex mutex;
  std::map<std::uintptr_t, Mapping> by_address;
  // end() when nothing is mapped there.
  [[nodiscard]] std::map<std::uintptr_t, Mapping>::iterator around(const void* ptr);
};
[[nodiscard]] Mappings& mappings();
void drop(Allocation* allocation);

}  // namespace hb::shim

#define SHIM_DONE(code) return ::hb::shim::done((code), __func__)
#define SHIM_ENTER()                                                                                      \
  do {                                                                                                    \
    if (const ::hb::shim::HipError shim_code = ::hb::shim::enter(); shim_code != 0) SHIM_DONE(shim_code); \
  } while (false)
