// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Driver errors by name, and how a guest calls the runtime.
#pragma once

#include <mutex>
#include <string>

#include "error.h"
#include "providers/hip/abi.h"

namespace hb::client::hip {

// "hipErrorInvalidValue (1)"
[[nodiscard]] std::string error_text(const HipTable& hip, HipError code);

// "DOING: hipMemMap: hipErrorInvalidValue (1)". OutOfMemory is HB_NO_MEMORY, or HB_NO_FDS where the process
// has no descriptors left: the runtime tells both alike. A running capture is HB_BUSY and says so. All else
// is HB_SYSTEM unless `status` is given.
[[nodiscard]] Error driver_error(const HipTable& hip, const char* call, HipError code,
                                 const std::string& doing, hb_status status = HB_SYSTEM);

// Held over every virtual memory call of ours: old ROCr takes no lock there. Not over hipMemUnmap where that
// waits for streams. In a forked child it may be held for ever: what leads here asks Runtime::get() or
// MappedRange::is_here() before.
[[nodiscard]] std::mutex& vmm_lock();

enum class Lock : bool { kNo, kYes };

// While it lives, the calling thread may call the runtime on a device of our choice. Afterwards everything is
// as the caller had it:
//  - the thread's current device;
//  - its stream capture mode: ours is `relaxed` meanwhile, in which no call of ours can end a capture;
//  - its pending error. One that was there before is there afterwards (where a runtime lost it by a success
//    of ours, it is brought back, or, for a code that cannot be, hipErrorInvalidValue stands in); with none
//    before, an error of ours is fetched and gone.
class DriverScope {
 public:
  static constexpr int kAnyDevice = -1;
  // kAnyDevice: the current one, unasked.
  DriverScope(const HipTable& hip, int device, Lock lock = Lock::kYes);
  ~DriverScope();
  DriverScope(const DriverScope&) = delete;
  DriverScope& operator=(const DriverScope&) = delete;

  // What failed on the way in: `call` and `code`; nullptr when nothing did.
  [[nodiscard]] const char* failed_call() const { return failed_call_; }
  [[nodiscard]] HipError code() const { return code_; }

 private:
  void enter(int device);
  void restore_error();

  const HipTable& hip_;
  std::unique_lock<std::mutex> lock_;
  HipError pending_ = kSuccess;
  int capture_mode_ = kCaptureRelaxed;
  bool mode_changed_ = false;
  int device_before_ = kAnyDevice;
  bool device_changed_ = false;
  const char* failed_call_ = nullptr;
  HipError code_ = kSuccess;
};

}  // namespace hb::client::hip
