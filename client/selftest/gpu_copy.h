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

}  // namespace hb::selftest
