// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "gpu_copy.h"

#include <utility>

#include "hip_calls.h"

namespace hb::selftest {
namespace {

constexpr unsigned kNonBlocking = 1;

}  // namespace

std::string gpu_copy(int device, Direction direction, void* to, const void* from, std::size_t bytes) {
  const HipCalls& hip = hip_calls();
  if (!hip.wrong.empty()) return hip.wrong;
  void* stream = nullptr;
  if (const int code = hip.hipSetDevice(device); code != 0) return hip_failure("hipSetDevice", code);
  if (const int code = hip.hipStreamCreateWithFlags(&stream, kNonBlocking); code != 0)
    return hip_failure("hipStreamCreateWithFlags", code);
  const char* call = "hipMemcpyAsync";
  int code = hip.hipMemcpyAsync(to, from, bytes, direction == Direction::kToGpu ? 1 : 2, stream);
  if (code == 0) {
    call = "hipStreamSynchronize";
    code = hip.hipStreamSynchronize(stream);
  }
  static_cast<void>(hip.hipStreamDestroy(stream));
  return hip_failure(call, code);
}

std::string CopyUnderWay::begin(int device, void* to, const void* from, std::size_t bytes) {
  constexpr unsigned kWithoutTiming = 2;
  const HipCalls& hip = hip_calls();
  if (!hip.wrong.empty()) return hip.wrong;
  std::string wrong = hip_failure("hipSetDevice", hip.hipSetDevice(device));
  if (wrong.empty())
    wrong = hip_failure("hipStreamCreateWithFlags", hip.hipStreamCreateWithFlags(&stream_, kNonBlocking));
  if (wrong.empty())
    wrong = hip_failure("hipEventCreateWithFlags", hip.hipEventCreateWithFlags(&event_, kWithoutTiming));
  if (wrong.empty()) wrong = hip_failure("hipMemcpyAsync", hip.hipMemcpyAsync(to, from, bytes, 2, stream_));
  if (wrong.empty()) wrong = hip_failure("hipEventRecord", hip.hipEventRecord(event_, stream_));
  return wrong;
}

std::string CopyUnderWay::end() {
  const HipCalls& hip = hip_calls();
  std::string wrong;
  if (stream_ != nullptr) wrong = hip_failure("hipStreamSynchronize", hip.hipStreamSynchronize(stream_));
  if (event_ != nullptr) static_cast<void>(hip.hipEventDestroy(std::exchange(event_, nullptr)));
  if (stream_ != nullptr) static_cast<void>(hip.hipStreamDestroy(std::exchange(stream_, nullptr)));
  return wrong;
}

}  // namespace hb::selftest
