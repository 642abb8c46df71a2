// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "providers/hip/topology.h"

#include <fcntl.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <map>

#include "wire/unique_fd.h"

namespace hb::client::hip {
namespace {

std::string read_small(const std::string& path) {
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::string out;
  if (!file) return out;
  char buffer[4096];
  for (;;) {
    const ssize_t n = ::read(file.get(), buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return out;
    out.append(buffer, static_cast<std::size_t>(n));
  }
}

// Lines "name value".
std::map<std::string, std::uint64_t> properties(const std::string& text) {
  std::map<std::string, std::uint64_t> out;
  for (std::size_t start = 0; start < text.size();) {
    const std::size_t end = std::min(text.find('\n', start), text.size());
    const std::string line = text.substr(start, end - start);
    start = end + 1;
    const std::size_t space = line.find(' ');
    if (space != std::string::npos)
      out[line.substr(0, space)] = std::strtoull(line.c_str() + space + 1, nullptr, 10);
  }
  return out;
}

// KFD: major * 10000 + minor * 100 + stepping; in the name the last two are single hexadecimal digits.
std::string gfx_name(std::uint64_t version) {
  if (version == 0) return {};
  char text[32];
  std::snprintf(text, sizeof text, "gfx%u%x%x", static_cast<unsigned>(version / 10'000),
                static_cast<unsigned>(version / 100 % 100), static_cast<unsigned>(version % 100));
  return text;
}

}  // namespace

std::string sysfs_root() {
  const char* root = ::secure_getenv("HIPBROKER_SYSFS_ROOT");
  return root != nullptr ? root : "";
}

std::string bus_id(unsigned domain, unsigned bus, unsigned slot, unsigned function) {
  char text[32];
  std::snprintf(text, sizeof text, "%04x:%02x:%02x.%x", domain, bus, slot, function);
  return text;
}

std::string kernel_release(const std::string& root) {
  std::string there = root.empty() ? "" : read_small(root + "/proc/sys/kernel/osrelease");
  there.erase(std::min(there.find('\n'), there.size()));
  if (!there.empty()) return there;
  utsname name{};
  static_cast<void>(::uname(&name));
  return name.release;
}

std::vector<KfdNode> kfd_nodes(const std::string& root) {
  const std::string nodes = root + "/sys/class/kfd/kfd/topology/nodes/";
  std::vector<KfdNode> out;
  // Numbered without gaps; one that may not be read (another container's GPU) has an empty file, or EPERM.
  for (int number = 0; ::access((nodes + std::to_string(number)).c_str(), F_OK) == 0; ++number) {
    const auto all = properties(read_small(nodes + std::to_string(number) + "/properties"));
    const auto value = [&all](const char* name) {
      const auto found = all.find(name);
      return found == all.end() ? std::uint64_t{0} : found->second;
    };
    if (value("simd_count") == 0) continue;
    const auto location = static_cast<std::uint32_t>(value("location_id"));
    const unsigned function = location & 7;
    KfdNode node;
    node.unique_id = value("unique_id");
    node.pci = bus_id(static_cast<unsigned>(value("domain")), location >> 8 & 0xff, location >> 3 & 0x1f, 0);
    node.partition = location >> 28 != 0 ? location >> 28 : function;
    node.render_minor = static_cast<std::uint32_t>(value("drm_render_minor"));
    node.gfx = gfx_name(value("gfx_target_version"));
    out.push_back(std::move(node));
  }
  return out;
}

bool amdgpu_loaded(const std::string& root) {
  return ::access((root + "/sys/module/amdgpu").c_str(), F_OK) == 0;
}

std::string amdgpu_version(const std::string& root) {
  std::string text = read_small(root + "/sys/module/amdgpu/version");
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text.empty() ? "in-tree" : text;
}

}  // namespace hb::client::hip
