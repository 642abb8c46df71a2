// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// What a pointer is that the library knows nothing of. Some runtimes crash on the question, so it is only put
// where that is known not to happen, or where the caller vouches for the memory.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "error.h"
#include "providers/hip/provider.h"
#include "providers/placement.h"
#include "shareability.h"

namespace hb::client::hip {

struct PointerFacts {
  MemoryKind kind = MemoryKind::kUnknown;
  std::string reason;       // with kUnknown
  std::uintptr_t base = 0;  // 0: not known
  std::uint64_t bytes = 0;  // of the allocation, or of the one mapping
  int ordinal = -1;
  std::uint64_t buffer_id = 0;
  bool maker_untold = false;     // device memory, of which this runtime does not say who made it
  std::optional<Error> failure;  // the question itself failed: nothing is known

  [[nodiscard]] MemoryIdentity identity() const { return {base, bytes, buffer_id}; }
};

// Why this runtime must not be asked about a pointer of unknown origin; "" where it may be.
[[nodiscard]] std::string unsafe_to_ask(const Runtime& runtime, const Quirks& quirks);

// Asks the driver. Never inside a DriverScope.
[[nodiscard]] PointerFacts ask_driver(const Runtime& runtime, const void* ptr);

// "hipMalloc memory", for messages.
[[nodiscard]] const char* kind_name(MemoryKind kind);

struct Classified {
  PointerFacts facts;
  DeviceId device;
  int shareable = -1;  // as hb_pointer_info
  std::string reason;
};
// Loads nothing and runs no probe.
[[nodiscard]] Classified classify(const void* ptr);

}  // namespace hb::client::hip
