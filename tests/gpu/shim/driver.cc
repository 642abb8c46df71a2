// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "gpu/shim/driver.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <type_traits>

namespace hb::shim {
namespace {

constexpr int kMostDevices = 64;

struct State {
  Cuda cuda;
  HipError status = fakehip::kNoDevice;
  int count = 0;
  std::mutex mutex;
  std::array<cuda::Context, kMostDevices> contexts{};
};
// Never destroyed: programs free memory in static destructors.
State& state() {
  static auto* made = new State;
  return *made;
}
std::once_flag g_started;
thread_local int t_device = 0;
thread_local HipError t_last = fakehip::kSuccess;

void load(State& s) {
  const char* path = std::getenv("HIP_SHIM_LIBCUDA");
  void* library = ::dlopen(path != nullptr && *path != '\0' ? path : "libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    std::fprintf(stderr, "hip shim: %s\n", ::dlerror());
    return;
  }
  Cuda found;
  bool complete = true;
  const auto find = [&](auto& function, const char* symbol) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(::dlsym(library, symbol));
    if (function != nullptr) return;
    std::fprintf(stderr, "hip shim: libcuda has no %s\n", symbol);
    complete = false;
  };
#define SHIM_FIND(name, parameters) find(found.name, #name);
  HB_CUDA_FUNCTIONS(SHIM_FIND)
#undef SHIM_FIND
  if (!complete) return;
  if (found.cuInit(0) != cuda::kSuccess || found.cuDeviceGetCount(&s.count) != cuda::kSuccess) return;
  s.count = std::min(s.count, kMostDevices);
  s.cuda = found;
  if (s.count > 0) s.status = fakehip::kSuccess;
}

// "7.2" or "7.2.1" as hipRuntimeGetVersion writes it.
int parse_version(const char* text) {
  int major = 0;
  int minor = 0;
  int patch = 0;
  std::sscanf(text, "%d.%d.%d", &major, &minor, &patch);
  return major * 10'000'000 + minor * 100'000 + patch;
}

}  // namespace

const Cuda& cu() { return state().cuda; }

HipError start() {
  State& s = state();
  std::call_once(g_started, [&s] { load(s); });
  return s.status;
}

int device_count() { return state().count; }

HipError enter() {
  if (const HipError code = start(); code != fakehip::kSuccess) return code;
  State& s = state();
  cuda::Context context = nullptr;
  {
    const std::lock_guard guard(s.mutex);
    cuda::Context& kept = s.contexts[static_cast<std::size_t>(t_device)];
    if (kept == nullptr) {
      cuda::Device device = 0;
      if (const auto result = s.cuda.cuDeviceGet(&device, t_device); result != 0) return convert(result);
      if (const auto result = s.cuda.cuDevicePrimaryCtxRetain(&kept, device); result != 0)
        return convert(result);
    }
    context = kept;
  }
  return convert(s.cuda.cuCtxSetCurrent(context));
}

int current_device() { return t_device; }
void set_current_device(int ordinal) { t_device = ordinal; }

int version() {
  static const int known = [] {
    const char* text = std::getenv("HIP_SHIM_VERSION");
    return parse_version(text != nullptr && *text != '\0' ? text : SHIM_DEFAULT_VERSION);
  }();
  return known;
}

HipError convert(cuda::Result result) {
  switch (result) {  // numbers that both have, with one meaning
    case cuda::kSuccess:
    case cuda::kInvalidValue:
    case cuda::kOutOfMemory:
    case cuda::kNotInitialized:
    case cuda::kNoDevice:
    case cuda::kInvalidDevice:
    case cuda::kInvalidContext:
    case cuda::kInvalidHandle:
    case cuda::kNotFound:
    case cuda::kNotReady:
    case cuda::kNotSupported:
    case fakehip::kIllegalAddress:
    case fakehip::kLaunchFailure:
      return result;
    default:
      return result >= 900 && result <= 908 ? result : fakehip::kUnknown;  // of stream captures
  }
}

HipError done(HipError code, const char* call) {
  if (code == fakehip::kSuccess) return code;
  t_last = code;
  static const bool trace = std::getenv("HIP_SHIM_TRACE") != nullptr;
  if (trace) std::fprintf(stderr, "hip shim: %s = %d\n", call, code);
  return code;
}

HipError take_last_error() {
  const HipError code = t_last;
  t_last = fakehip::kSuccess;
  return code;
}
HipError last_error() { return t_last; }

std::map<std::uintptr_t, Mapping>::iterator Mappings::around(const void* ptr) {
  const auto at = reinterpret_cast<std::uintptr_t>(ptr);
  auto found = by_address.upper_bound(at);
  if (found == by_address.begin()) return by_address.end();
  --found;
  return at - found->first < found->second.bytes ? found : by_address.end();
}

Mappings& mappings() {
  static auto* made = new Mappings;
  return *made;
}

void drop(Allocation* allocation) {
  if (--allocation->references > 0) return;
  static_cast<void>(cu().cuMemRelease(allocation->handle));
  delete allocation;
}

}  // namespace hb::shim
