// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Copies between CPU and GPU as a program makes them: by the runtime that this process has loaded, on a
// stream of its own.
#pragma once

#include <cstddef>
#include <string>

namespace hb::selftest {

enum class Direction { kToGpu, kFromGpu };

// By GPU `device`; an empty text is success.
[[nodiscard]] std::string gpu_copy(int device, Direction direction, void* to, const void* from,
                                   std::size_t bytes);

// A copy from the GPU that is under way, and the event behind it.
class CopyUnderWay {
 public:
  CopyUnderWay() = default;
  CopyUnderWay(const CopyUnderWay&) = delete;
  CopyUnderWay& operator=(const CopyUnderWay&) = delete;
  ~CopyUnderWay() { static_cast<void>(end()); }

  // An empty text is success, as of end(), which waits for it.
  [[nodiscard]] std::string begin(int device, void* to, const void* from, std::size_t bytes);
  [[nodiscard]] void* event() const { return event_; }
  [[nodiscard]] std::string end();

 private:
  void* stream_ = nullptr;
  void* event_ = nullptr;
};

}  // namespace hb::selftest
