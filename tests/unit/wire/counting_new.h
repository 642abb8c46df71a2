// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// The allocations of this program, counted and refused on demand (counting_new.cc replaces operator new).
#pragma once

#include <cstddef>

namespace hb::test {

[[nodiscard]] std::size_t allocations() noexcept;

// While it lives, operator new throws std::bad_alloc in this thread.
class NoMemory {
 public:
  NoMemory() noexcept;
  ~NoMemory();
  NoMemory(const NoMemory&) = delete;
  NoMemory& operator=(const NoMemory&) = delete;
};

}  // namespace hb::test
