// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "gpu_copy.h"

#include <dlfcn.h>

#include "hipbroker/hipbroker.h"

namespace hb::selftest {
namespace {

struct Runtime {
  int (*hipSetDevice)(int device) = nullptr;
  int (*hipStreamCreateWithFlags)(void** stream, unsigned flags) = nullptr;
  int (*hipStreamSynchronize)(void* stream) = nullptr;
  int (*hipStreamDestroy)(void* stream) = nullptr;
  int (*hipMemcpyAsync)(void* to, const void* from, std::size_t bytes, int kind, void* stream) = nullptr;
  const char* (*hipGetErrorName)(int error) = nullptr;
  std::string wrong;
};

// The library has loaded it already: a second copy would know none of its pointers.
Runtime load() {
  Runtime out;
  hb_hip_look* look = nullptr;
  hb_error error = HB_ERROR_INIT;
  if (hb_hip_look_open(&look, &error) != HB_OK) {
    out.wrong = error.message;
    return out;
  }
  const std::string path = hb_hip_look_runtime(look)->path;
  hb_hip_look_close(look);
  void* const library = ::dlopen(path.c_str(), RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) {
    out.wrong = "the HIP runtime " + path + " is not loaded";
    return out;
  }
  const auto find = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(::dlsym(library, name));
    if (function == nullptr) out.wrong = path + " lacks " + name;
  };
  find(out.hipSetDevice, "hipSetDevice");
  find(out.hipStreamCreateWithFlags, "hipStreamCreateWithFlags");
  find(out.hipStreamSynchronize, "hipStreamSynchronize");
  find(out.hipStreamDestroy, "hipStreamDestroy");
  find(out.hipMemcpyAsync, "hipMemcpyAsync");
  find(out.hipGetErrorName, "hipGetErrorName");
  return out;
}

}  // namespace

std::string gpu_copy(int device, Direction direction, void* to, const void* from, std::size_t bytes) {
  static const Runtime hip = load();
  if (!hip.wrong.empty()) return hip.wrong;
  const auto failed = [](const char* call, int code) {
    const char* name = hip.hipGetErrorName(code);
    return std::string(call) + ": " + (name != nullptr ? name : "HIP error") + " (" + std::to_string(code) +
           ")";
  };
  constexpr unsigned kNonBlocking = 1;
  void* stream = nullptr;
  if (const int code = hip.hipSetDevice(device); code != 0) return failed("hipSetDevice", code);
  if (const int code = hip.hipStreamCreateWithFlags(&stream, kNonBlocking); code != 0)
    return failed("hipStreamCreateWithFlags", code);
  const char* call = "hipMemcpyAsync";
  int code = hip.hipMemcpyAsync(to, from, bytes, direction == Direction::kToGpu ? 1 : 2, stream);
  if (code == 0) {
    call = "hipStreamSynchronize";
    code = hip.hipStreamSynchronize(stream);
  }
  static_cast<void>(hip.hipStreamDestroy(stream));
  return code == 0 ? "" : failed(call, code);
}

}  // namespace hb::selftest
