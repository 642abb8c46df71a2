// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "hip_calls.h"

#include <dlfcn.h>

#include <type_traits>

#include "hipbroker/hipbroker.h"

namespace hb::selftest {
namespace {

// The library has loaded it already: a second copy would know none of its pointers.
HipCalls load() {
  HipCalls out;
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
#define HB_SELFTEST_FIND(name, parameters) find(out.name, #name);
  HB_SELFTEST_HIP(HB_SELFTEST_FIND)
#undef HB_SELFTEST_FIND
  find(out.hipGetErrorName, "hipGetErrorName");
  return out;
}

}  // namespace

const HipCalls& hip_calls() {
  static const HipCalls calls = load();
  return calls;
}

std::string hip_failure(const char* call, int code) {
  if (code == 0) return "";
  const char* name = hip_calls().hipGetErrorName(code);
  return std::string(call) + ": " + (name != nullptr ? name : "HIP error") + " (" + std::to_string(code) +
         ")";
}

}  // namespace hb::selftest
