// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// The kernel's view of the same GPUs: KFD topology nodes (node 0 is the CPU) and DRM render nodes. Partitions
// of one GPU share location_id but for bits 31:28.
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>

#include "devices.h"

namespace hb::fakehip {
namespace {

bool make_dirs(const std::string& path) {
  for (std::size_t at = path.find('/', 1); at != std::string::npos; at = path.find('/', at + 1))
    if (::mkdir(path.substr(0, at).c_str(), 0755) != 0 && errno != EEXIST) return false;
  return ::mkdir(path.c_str(), 0755) == 0 || errno == EEXIST;
}

bool write_file(const std::string& path, const std::string& text) {
  if (!make_dirs(path.substr(0, path.rfind('/')))) return false;
  FILE* f = std::fopen(path.c_str(), "we");
  if (f == nullptr) return false;
  const bool ok = std::fputs(text.c_str(), f) >= 0;
  return std::fclose(f) == 0 && ok;
}

bool make_link(const std::string& target, const std::string& path) {
  if (!make_dirs(path.substr(0, path.rfind('/')))) return false;
  return ::symlink(target.c_str(), path.c_str()) == 0 || errno == EEXIST;
}

std::string line_of(const char* key, unsigned long long value) {
  return std::string(key) + " " + std::to_string(value) + "\n";
}

unsigned gfx_version(const std::string& gfx) {  // gfx942 -> 90402, as KFD writes it
  const std::string digits = gfx.substr(3);
  if (digits.size() < 3) return 0;
  const auto hex = [](char c) {
    return static_cast<unsigned>(std::strtoul(std::string(1, c).c_str(), nullptr, 16));
  };
  const unsigned major = static_cast<unsigned>(std::atoi(digits.substr(0, digits.size() - 2).c_str()));
  return major * 10'000 + hex(digits[digits.size() - 2]) * 100 + hex(digits.back());
}

std::string node_properties(const Device& device) {
  const unsigned location = device.bus << 8 | device.slot << 3 | device.partition << 28;
  const unsigned long long unique = device.uuid == "XX" ? 0 : std::strtoull(device.uuid.c_str(), nullptr, 16);
  return line_of("cpu_cores_count", 0) + line_of("simd_count", 304) + line_of("mem_banks_count", 1) +
         line_of("gfx_target_version", gfx_version(device.gfx)) + line_of("vendor_id", 4098) +
         line_of("device_id", 29'857) + line_of("location_id", location) + line_of("domain", device.domain) +
         line_of("drm_render_minor", device.render_minor) + line_of("unique_id", unique) +
         line_of("num_xcc", 1);
}

}  // namespace

int write_sysfs(const std::vector<Device>& devices, const std::string& root) {
  const std::string topology = root + "/sys/class/kfd/kfd/topology/";
  bool ok = write_file(topology + "nodes/0/gpu_id", "0\n") && write_file(topology + "nodes/0/name", "\n") &&
            write_file(topology + "nodes/0/properties",
                       line_of("cpu_cores_count", 64) + line_of("simd_count", 0) + line_of("location_id", 0) +
                           line_of("drm_render_minor", 0)) &&
            write_file(topology + "system_properties", line_of("num_devices", devices.size()));
  for (const Device& device : devices) {
    if (!ok) break;
    const std::string node = topology + "nodes/" + std::to_string(device.line + 1) + "/";
    const std::string pci =
        root + "/sys/devices/pci" + device.bus_id(false).substr(0, 4) + ":00/" + device.bus_id(false);
    const std::string minor = std::to_string(device.render_minor);
    const std::uint64_t vram = device.vram != 0 ? device.vram : std::uint64_t{64} << 30;
    ok = write_file(node + "properties", node_properties(device)) &&
         write_file(node + "gpu_id", std::to_string(40'000 + device.line) + "\n") &&
         write_file(node + "name", device.gfx + "\n") &&
         write_file(node + "mem_banks/0/properties",
                    line_of("heap_type", 1) + line_of("size_in_bytes", vram) + line_of("flags", 0)) &&
         write_file(pci + "/vendor", "0x1002\n") &&
         write_file(pci + "/mem_info_vram_total", std::to_string(vram) + "\n") &&
         write_file(pci + "/mem_info_vis_vram_total", std::to_string(vram) + "\n") &&
         write_file(pci + "/drm/renderD" + minor + "/dev", "226:" + minor + "\n") &&
         make_link("../../devices/pci" + device.bus_id(false).substr(0, 4) + ":00/" + device.bus_id(false) +
                       "/drm/renderD" + minor,
                   root + "/sys/class/drm/renderD" + minor) &&
         make_link("../../../" + device.bus_id(false), pci + "/drm/renderD" + minor + "/device") &&
         write_file(root + "/sys/module/amdgpu/version", "6.10.5\n");
  }
  return ok ? 0 : errno;
}

}  // namespace hb::fakehip
