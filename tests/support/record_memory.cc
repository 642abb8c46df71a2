// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "support/record_memory.h"

#include <cstdlib>
#include <span>

namespace hb::test {

core::RecordSet RecordMemory::read() const {
  core::RecordSet out;
  for (const auto& [key, bytes] : bytes_)
    if (!restart::decode_record(out, key, std::as_bytes(std::span(bytes))).empty())
      std::abort();  // it was encoded a moment ago
  return out;
}

}  // namespace hb::test
