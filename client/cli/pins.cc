// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "pins.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string_view>

#include "format.h"

namespace hb::cli {
namespace {

namespace fs = std::filesystem;

// "0000:c1:00.3" is a function of the GPU at "0000:c1:00.0", which is what exports name.
std::string function_zero(std::string pci) {
  const std::size_t dot = pci.rfind('.');
  if (dot != std::string::npos) pci.replace(dot, std::string::npos, ".0");
  return pci;
}

bool is(const char* state, std::string_view word) { return state != nullptr && word == state; }

}  // namespace

std::vector<GpuPins> gpus_in_use(const std::string& root) {
  std::vector<GpuPins> gpus;
  std::error_code error;
  for (fs::directory_iterator at(root + "/sys/class/drm", error), end; !error && at != end;
       at.increment(error)) {
    if (!at->path().filename().string().starts_with("renderD")) continue;
    const fs::path device = fs::canonical(at->path() / "device", error);
    if (error) continue;
    std::ifstream file(device / "mem_info_vram_used");
    GpuPins gpu;
    if (!(file >> gpu.used)) continue;  // not of amdgpu
    gpu.pci = function_zero(device.filename().string());
    // Partitions of one GPU share its memory, each with a node of its own.
    if (std::ranges::none_of(gpus, [&](const GpuPins& known) { return known.pci == gpu.pci; }))
      gpus.push_back(std::move(gpu));
  }
  std::ranges::sort(gpus, {}, &GpuPins::pci);
  return gpus;
}

void explain(std::vector<GpuPins>& gpus, std::span<const hb_listed* const> exports) {
  for (const hb_listed* e : exports) {
    if (e->device_pci == nullptr || is(e->state, "suspended")) continue;  // asleep it has no memory
    const auto gpu = std::ranges::find(gpus, function_zero(e->device_pci), &GpuPins::pci);
    if (gpu == gpus.end()) continue;
    ++gpu->exports;
    gpu->exported += e->bytes;
    if (is(e->state, "withdrawn") || is(e->state, "revoked") || is(e->state, "gone"))
      gpu->ended_held += e->bytes;
  }
}

std::string pins_text(std::span<const GpuPins> gpus, const TableStyle& style) {
  if (gpus.empty()) return "no GPU of amdgpu in /sys/class/drm\n";
  constexpr auto kRight = Column::Align::kRight;
  Table table({{"GPU"},
               {"IN USE", kRight},
               {"EXPORTED", kRight},
               {"ENDED, HELD", kRight},
               {"OTHER", kRight},
               {"EXPORTS", kRight, 0, 1}});
  for (const GpuPins& gpu : gpus)
    table.add({gpu.pci, format_bytes(gpu.used), format_bytes(gpu.exported), format_bytes(gpu.ended_held),
               format_bytes(gpu.other()), std::to_string(gpu.exports)});
  std::string out = table.render(style);
  if (std::ranges::any_of(gpus, [](const GpuPins& gpu) { return gpu.ended_held != 0; }))
    out += "what ended is still mapped by somebody: `hipbrokerctl who --top` names them\n";
  out += "OTHER is memory that nobody exported: of programs, of their runtimes, or leaked there\n";
  return out;
}

Json pins_json(std::span<const GpuPins> gpus, bool admin) {
  Json list = Json::array();
  for (const GpuPins& gpu : gpus)
    list.push_back({{"pci", gpu.pci},
                    {"used_bytes", gpu.used},
                    {"exports", gpu.exports},
                    {"exported_bytes", gpu.exported},
                    {"ended_held_bytes", gpu.ended_held},
                    {"other_bytes", gpu.other()}});
  return {{"view", admin ? "admin" : "own"}, {"gpus", std::move(list)}};
}

}  // namespace hb::cli
