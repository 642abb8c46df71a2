// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// What the tests run on: a real NVIDIA GPU, or fake_cuda in both forms of its descriptors.
//
//   HB_GPU_LIBCUDA=real   libcuda.so.1 of the machine; a path is that file; unset is fake_cuda of the build
//   HB_GPU_BUNDLE=DIR     where programs and libraries are instead of in the build (collect.sh makes it)
#pragma once

#include <cstdint>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

namespace hb::test {

using Variables = std::vector<std::pair<std::string, std::string>>;

struct GpuMachine {
  bool real = false;
  std::string libcuda;  // for HIP_SHIM_LIBCUDA
  int devices = 0;
};
[[nodiscard]] const GpuMachine& gpu_machine();

// One way to run every test: HIP's version as the shim reports it, and what descriptors are.
struct GpuCase {
  std::string version;
  std::string handles;  // "memfd" and "pty" of fake_cuda, "nvidia" of a real GPU

  [[nodiscard]] std::string name() const;
  [[nodiscard]] std::string shim() const;  // the file
  [[nodiscard]] Variables variables() const;
  // Character devices without a size, whose kind is HB_KIND_DRIVER.
  [[nodiscard]] bool own_kind() const { return handles != "memfd"; }
};
std::ostream& operator<<(std::ostream& out, const GpuCase& one);

// The four conventions: import by pointer and by value, before and after the CPU is a location, before and
// after the rewrite of 7.14.
[[nodiscard]] std::vector<GpuCase> gpu_cases();
// Two of them, for tests that take long.
[[nodiscard]] std::vector<GpuCase> few_gpu_cases();
// All of them where there are two GPUs, else none: such a test is not there at all on a machine with one.
[[nodiscard]] std::vector<GpuCase> two_gpu_cases();

[[nodiscard]] std::string probe_program();

}  // namespace hb::test
