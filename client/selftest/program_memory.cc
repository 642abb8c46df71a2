// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "program_memory.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "hip_calls.h"

namespace hb::selftest {
namespace {

// What is smaller may lie in a buffer of others; and no runtime maps in larger steps without saying so.
constexpr std::size_t kLarge = std::size_t{2} << 20;

}  // namespace

std::string ProgramMemory::make(const std::string& how, int device) {
  const HipCalls& hip = hip_calls();
  if (!hip.wrong.empty()) return hip.wrong;
  how_ = how;
  device_ = device;
  if (const int code = hip.hipSetDevice(device); code != 0) return hip_failure("hipSetDevice", code);
  if (how == "vmm") return make_mapped();
  void* at = nullptr;
  std::string wrong;
  bytes_ = 2 * kLarge;
  if (how == "malloc") wrong = hip_failure("hipMalloc", hip.hipMalloc(&at, bytes_));
  if (how == "pool") wrong = hip_failure("hipMallocAsync", hip.hipMallocAsync(&at, bytes_, nullptr));
  if (how == "host") wrong = hip_failure("hipHostMalloc", hip.hipHostMalloc(&at, bytes_, 0));
  if (wrong.empty()) at_ = static_cast<char*>(at);
  return wrong;
}

std::string ProgramMemory::make_mapped() {
  constexpr int kPinned = 1;
  constexpr int kDescriptor = 1;
  constexpr int kDevice = 1;
  constexpr int kReadWrite = 3;
  constexpr int kRecommended = 1;
  const HipCalls& hip = hip_calls();
  const HipLocation here{kDevice, device_};
  const HipAllocationProp prop{kPinned, kDescriptor, here, nullptr, {}};
  std::size_t unit = 0;
  if (const int code = hip.hipMemGetAllocationGranularity(&unit, &prop, kRecommended); code != 0)
    return hip_failure("hipMemGetAllocationGranularity", code);
  unit = std::max(unit, kLarge);
  void* at = nullptr;
  if (const int code = hip.hipMemAddressReserve(&at, 3 * unit, unit, nullptr, 0); code != 0)
    return hip_failure("hipMemAddressReserve", code);
  at_ = static_cast<char*>(at);
  bytes_ = 3 * unit;
  std::size_t done = 0;
  for (const std::size_t bytes : {unit, 2 * unit}) {
    void* handle = nullptr;
    if (const int code = hip.hipMemCreate(&handle, bytes, &prop, 0); code != 0)
      return hip_failure("hipMemCreate", code);
    handles_.push_back({handle, bytes, nullptr});
    if (const int code = hip.hipMemMap(at_ + done, bytes, 0, handle, 0); code != 0)
      return hip_failure("hipMemMap", code);
    handles_.back().base = at_ + done;
    done += bytes;
  }
  const HipAccess access{here, kReadWrite};
  return hip_failure("hipMemSetAccess", hip.hipMemSetAccess(at_, bytes_, &access, 1));
}

std::string ProgramMemory::give_back() {
  if (at_ == nullptr) return "";
  const HipCalls& hip = hip_calls();
  void* const at = std::exchange(at_, nullptr);
  std::string wrong;
  const auto note = [&wrong](const char* call, int code) {
    if (wrong.empty()) wrong = hip_failure(call, code);
  };
  for (const hb_hip_handle& handle : std::exchange(handles_, {})) {
    if (handle.base != nullptr) note("hipMemUnmap", hip.hipMemUnmap(handle.base, handle.bytes));
    note("hipMemRelease", hip.hipMemRelease(handle.handle));
  }
  if (how_ == "vmm") note("hipMemAddressFree", hip.hipMemAddressFree(at, bytes_));
  if (how_ == "malloc" || how_ == "pool") note("hipFree", hip.hipFree(at));
  if (how_ == "host") note("hipHostFree", hip.hipHostFree(at));
  return wrong;
}

}  // namespace hb::selftest
