// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Does one GPU read and write what another one holds? On some hosts peers see wrong bytes whatever the
// runtime says (PCIe ACS, IOMMU, no large BAR), and only a comparison tells. Tried in the helper process.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "error.h"
#include "providers/hip/device.h"
#include "providers/hip/runtime.h"

namespace hb::client::hip {

enum class PairEnd : std::uint8_t { kOk, kNoAccess, kWrongBytes, kCrashed, kFailed };
inline constexpr std::size_t kPairEnds = 5;
[[nodiscard]] const char* pair_end_name(PairEnd end);  // "ok", "no_access", "wrong_bytes", ...

struct Pair {
  int owner = -1;  // ordinal of the GPU that has the memory
  int other = -1;  // of the one that copies from and to it
  PairEnd end = PairEnd::kFailed;
  std::string reason;  // unless it is kOk
};

// Every other GPU against memory of `owner`. A crash ends that pair, not the rest.
[[nodiscard]] Result<std::vector<Pair>> check_peers(const Runtime& runtime, const DeviceTable& devices,
                                                    int owner);

// The helper's line "pair OTHER END reason"; false: not such a line. Pure, for tests.
[[nodiscard]] bool take_pair_line(std::string_view line, Pair& pair);

}  // namespace hb::client::hip
