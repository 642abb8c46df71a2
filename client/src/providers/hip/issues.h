// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// What a person should know of a runtime and its kernel: the rows of quirks.cc in words that say what to do.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "providers/hip/quirks.h"
#include "providers/hip/verdict.h"

namespace hb::client::hip {

enum class Weight : std::uint8_t {
  kHandled,  // the library works around it; code of one's own has to as well
  kNote,     // a limit of this version
  kTrouble,  // somebody has to do something, or will be bitten
};

struct Issue {
  const char* name;
  const char* text;
  const char* advice;
  Weight weight;
  bool seen;    // by the probe on this machine
  bool tabled;  // known of this version
};

// Known of the version; what the probe saw otherwise is left out or added. `findings` may be empty: nothing
// was tried. `runtime_version` 0: there is no runtime, only the kernel is judged.
[[nodiscard]] std::vector<Issue> issues_of(int runtime_version, std::span<const Findings> findings,
                                           std::string_view release, std::string_view amdgpu);

}  // namespace hb::client::hip
