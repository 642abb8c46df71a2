// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Memory that a program made with HIP itself, and the library did not.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "hipbroker/hipbroker.h"

namespace hb::selftest {

class ProgramMemory {
 public:
  ProgramMemory() = default;
  ProgramMemory(const ProgramMemory&) = delete;
  ProgramMemory& operator=(const ProgramMemory&) = delete;
  ~ProgramMemory() { static_cast<void>(give_back()); }

  // `how`: "malloc" (so large that it has its buffer to itself), "vmm" (two allocations of different sizes,
  // side by side), "pool", "host". An empty text is success, as of give_back().
  [[nodiscard]] std::string make(const std::string& how, int device);
  [[nodiscard]] std::string give_back();

  [[nodiscard]] char* at() const { return at_; }
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
  [[nodiscard]] int device() const { return device_; }
  [[nodiscard]] const std::vector<hb_hip_handle>& handles() const { return handles_; }

 private:
  std::string make_mapped();

  std::string how_;
  int device_ = 0;
  char* at_ = nullptr;
  std::uint64_t bytes_ = 0;
  std::vector<hb_hip_handle> handles_;  // of "vmm"
};

}  // namespace hb::selftest
