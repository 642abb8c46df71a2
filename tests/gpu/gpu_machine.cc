// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "gpu/gpu_machine.h"

#include <dlfcn.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdlib>

#include "support/process.h"
#include "support/role.h"

namespace hb::test {
namespace {

std::string variable(const char* name) {
  const char* text = std::getenv(name);
  return text != nullptr ? text : "";
}

std::string place(const std::string& in_bundle, const char* in_build) {
  const std::string bundle = variable("HB_GPU_BUNDLE");
  return bundle.empty() ? in_build : bundle + "/" + in_bundle;
}

// In a process of its own: this one must never have loaded a driver.
int count_devices(const std::string& libcuda) {
  ProcessOptions options;
  options.env = {{"HIP_SHIM_LIBCUDA", libcuda}, {"CUDA_VISIBLE_DEVICES", ""}};
  Process child({own_program(), "--role=gpu_count"}, options);
  const auto status = child.wait();
  return status && WIFEXITED(*status) ? WEXITSTATUS(*status) : 0;
}

std::vector<GpuCase> cases_of(const std::vector<std::string>& versions) {
  std::vector<GpuCase> out;
  const std::vector<std::string> handles =
      gpu_machine().real ? std::vector<std::string>{"nvidia"} : std::vector<std::string>{"memfd", "pty"};
  for (const std::string& version : versions)
    for (const std::string& form : handles) out.push_back({version, form});
  return out;
}

}  // namespace

const GpuMachine& gpu_machine() {
  static const GpuMachine known = [] {
    GpuMachine out;
    const std::string wanted = variable("HB_GPU_LIBCUDA");
    out.real = wanted == "real";
    out.libcuda = out.real ? "libcuda.so.1" : wanted;
    if (out.libcuda.empty()) out.libcuda = place("fake_cuda/libcuda.so.1", FAKE_CUDA_PATH);
    out.devices = count_devices(out.libcuda);
    return out;
  }();
  return known;
}

std::string GpuCase::name() const {
  std::string out = "v" + version + "_" + handles;
  std::replace(out.begin(), out.end(), '.', '_');
  return out;
}

std::string GpuCase::shim() const {
  return version[0] == '6' ? place("shim6/libamdhip64.so.6", GPU_SHIM_PATH_6)
                           : place("shim7/libamdhip64.so.7", GPU_SHIM_PATH_7);
}

Variables GpuCase::variables() const {
  return {{"HB_GPU_SHIM", shim()},
          {"HIP_SHIM_VERSION", version},
          {"HIP_SHIM_LIBCUDA", gpu_machine().libcuda},
          {"FAKE_CUDA_HANDLES", handles}};
}

std::ostream& operator<<(std::ostream& out, const GpuCase& one) { return out << one.name(); }

std::vector<GpuCase> gpu_cases() { return cases_of({"6.2", "7.0", "7.2", "7.15"}); }
std::vector<GpuCase> few_gpu_cases() { return cases_of({"6.2", "7.2"}); }
std::vector<GpuCase> two_gpu_cases() {
  return gpu_machine().devices >= 2 ? gpu_cases() : std::vector<GpuCase>();
}

std::string probe_program() { return place("bin/hipbroker-probe", HIP_PROBE_HELPER); }

// The number of GPUs as exit status.
HB_ROLE(gpu_count) {
  const std::string shim = GpuCase{"7.2", ""}.shim();
  void* library = ::dlopen(shim.c_str(), RTLD_NOW);
  auto* count =
      library == nullptr ? nullptr : reinterpret_cast<int (*)(int*)>(::dlsym(library, "hipGetDeviceCount"));
  int devices = 0;
  if (count == nullptr || count(&devices) != 0) devices = 0;
  std::_Exit(devices);  // what the driver keeps open is not ours to count
}

}  // namespace hb::test
