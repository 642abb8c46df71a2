// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Addresses for a row of mappings side by side. They are held as one reservation and given up slot by slot,
// each at the moment its mapping takes them: whoever maps it reserves them itself. Between the two another
// thread of the process may be faster; then the mapping fails with HB_ADDRESS, and nothing is mapped over
// anything.
#pragma once

#include <cstddef>
#include <cstdint>

#include "error.h"

namespace hb::client {

class FlatAddresses {
 public:
  // `count` slots of `stride` bytes, the first at `base` (nullptr: anywhere, aligned). HB_ADDRESS, HB_RANGE
  // (more than there are addresses), HB_NO_MEMORY.
  [[nodiscard]] static Result<FlatAddresses> find(void* base, std::uint64_t stride, std::uint32_t count,
                                                  std::uint64_t alignment);
  FlatAddresses(FlatAddresses&& other) noexcept;
  FlatAddresses& operator=(FlatAddresses&&) = delete;
  ~FlatAddresses();

  // The slot's addresses, free from now on. In rising order.
  [[nodiscard]] void* take(std::uint32_t slot);

 private:
  FlatAddresses(char* base, std::uint64_t stride, std::uint32_t count)
      : base_(base), stride_(stride), count_(count) {}

  char* base_;
  std::uint64_t stride_;
  std::uint32_t count_;
  std::uint32_t taken_ = 0;
};

}  // namespace hb::client
