// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "providers/hip/driver.h"

#include "fd_room.h"

namespace hb::client::hip {
namespace {

// A process with fewer free than this when the runtime says OutOfMemory has run out of descriptors, not of
// memory: the runtime itself takes a handful at a time.
constexpr std::uint64_t kFewDescriptors = 8;

}  // namespace

std::string error_text(const HipTable& hip, HipError code) {
  const char* name = hip.hipGetErrorName != nullptr ? hip.hipGetErrorName(code) : nullptr;
  return (name != nullptr ? std::string(name) : std::string("HIP error")) + " (" + std::to_string(code) + ")";
}

Error driver_error(const HipTable& hip, const char* call, HipError code, const std::string& doing,
                   hb_status status) {
  Error error;
  error.status = status;
  error.operation = call;
  error.message = doing + ": " + call + ": " + error_text(hip, code);
  if (code == kOutOfMemory) {
    const FdRoom room = fd_room();
    if (room.free() < kFewDescriptors) {
      Error none = no_fds(room, room.open + kFewDescriptors, error.message);
      none.operation = call;
      return none;
    }
    error.status = HB_NO_MEMORY;
    error.message += "; the device or the address space is full";
  } else if (code >= kStreamCaptureUnsupported && code <= kStreamCaptureLast) {
    error.status = HB_BUSY;
    error.message += "; a stream capture is running in this process: do it before or after the capture";
  }
  return error;
}

std::mutex& vmm_lock() {
  static auto* lock = new std::mutex;  // never destroyed: memory may go in static destructors
  return *lock;
}

DriverScope::DriverScope(const HipTable& hip, int device, Lock lock) : hip_(hip) {
  if (lock == Lock::kYes) lock_ = std::unique_lock(vmm_lock());
  pending_ = hip_.hipPeekAtLastError();
  enter(device);
}

void DriverScope::enter(int device) {
  code_ = hip_.hipThreadExchangeStreamCaptureMode(&capture_mode_);
  if (code_ != kSuccess) {
    // It may have been done all the same.
    mode_changed_ = capture_mode_ != kCaptureRelaxed;
    failed_call_ = "hipThreadExchangeStreamCaptureMode";
    return;
  }
  mode_changed_ = true;
  if (device == kAnyDevice) return;
  code_ = hip_.hipGetDevice(&device_before_);
  if (code_ != kSuccess) {
    failed_call_ = "hipGetDevice";
    return;
  }
  if (device == device_before_) return;
  device_changed_ = true;  // also when it answers an error: it is set back in any case
  code_ = hip_.hipSetDevice(device);
  if (code_ != kSuccess) failed_call_ = "hipSetDevice";
}

DriverScope::~DriverScope() {
  // Once more when it fails: a transient refusal must not leave the caller on another device.
  if (device_changed_ && hip_.hipSetDevice(device_before_) != kSuccess)
    static_cast<void>(hip_.hipSetDevice(device_before_));
  if (mode_changed_) static_cast<void>(hip_.hipThreadExchangeStreamCaptureMode(&capture_mode_));
  restore_error();
}

void DriverScope::restore_error() {
  const HipError now = hip_.hipPeekAtLastError();
  if (pending_ == kSuccess) {
    if (now != kSuccess) static_cast<void>(hip_.hipGetLastError());
    return;
  }
  if (now == pending_) return;
  // Calls that do nothing but fail with a known code.
  if (pending_ == kInvalidDevice)
    static_cast<void>(hip_.hipSetDevice(-1));
  else if (pending_ == kInvalidValue || now == kSuccess)
    static_cast<void>(hip_.hipRuntimeGetVersion(nullptr));
}

}  // namespace hb::client::hip
