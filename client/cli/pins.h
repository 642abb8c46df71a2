// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// GPU memory in use, as the kernel tells it, and how much of it is what the broker knows of.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "hipbroker/hipbroker.h"
#include "json.h"
#include "table.h"

namespace hb::cli {

struct GpuPins {
  std::string pci;  // function 0
  std::uint64_t used = 0;
  std::uint64_t exports = 0;
  std::uint64_t exported = 0;    // bytes of exports on it
  std::uint64_t ended_held = 0;  // of these: ended, and still mapped by somebody
  // 0 where exports share memory, and count more than there is.
  [[nodiscard]] std::uint64_t other() const { return used > exported ? used - exported : 0; }
};

// GPUs of amdgpu by PCI address, with what they use. `root` stands before /sys.
[[nodiscard]] std::vector<GpuPins> gpus_in_use(const std::string& root);
void explain(std::vector<GpuPins>& gpus, std::span<const hb_listed* const> exports);

[[nodiscard]] std::string pins_text(std::span<const GpuPins> gpus, const TableStyle& style);
[[nodiscard]] Json pins_json(std::span<const GpuPins> gpus, bool admin);

}  // namespace hb::cli
