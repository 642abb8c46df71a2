// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "page.h"

#include <sys/resource.h>
#include <sys/utsname.h>

#include <cctype>
#include <cstdlib>
#include <fstream>

namespace hb::selftest {
namespace {

void replace(std::string& text, const std::string& what, const std::string& by) {
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += by.size())
    text.replace(at, what.size(), by);
}

// A GPU's UUID is its board's serial number.
void hide_serials(std::string& text) {
  constexpr std::size_t kShortest = 8;
  const std::string mark = "GPU-";
  for (std::size_t at = 0; (at = text.find(mark, at)) != std::string::npos; at += mark.size()) {
    std::size_t end = at + mark.size();
    while (end < text.size() && std::isxdigit(static_cast<unsigned char>(text[end])) != 0) ++end;
    if (end - at - mark.size() >= kShortest)
      text.replace(at + mark.size(), end - at - mark.size(), "(serial)");
  }
}

std::string first_line(const char* path) {
  std::ifstream in(path);
  std::string line;
  std::getline(in, line);
  return line;
}

std::string system_name() {
  std::ifstream in("/etc/os-release");
  for (std::string line; std::getline(in, line);)
    if (line.starts_with("PRETTY_NAME=")) {
      line = line.substr(12);
      std::erase(line, '"');
      return line;
    }
  return "unknown system";
}

std::string devices_text(const Lab& lab) {
  std::string out;
  std::size_t hidden = 0;
  for (std::size_t i = 0; i < hb_hip_look_device_count(lab.look()); ++i) {
    const hb_hip_device& device = *hb_hip_look_device_at(lab.look(), i);
    if (device.ordinal < 0) {
      ++hidden;
      continue;
    }
    out += public_line("GPU " + std::to_string(device.ordinal) + ": " +
                       (*device.gfx != '\0' ? device.gfx : "target unknown") + " at " + device.id.pci +
                       ", partition " + std::to_string(device.id.partition) +
                       (device.large_bar != 0 ? ", large BAR" : ", small BAR") +
                       (device.vmm != 0 ? "" : ", no virtual memory management") +
                       (device.in_kernel != 0 ? "" : ", not in the kernel's list"));
  }
  if (hidden != 0) {
    const std::string variables = lab.runtime().variables;
    out += public_line(std::to_string(hidden) + " more GPUs are not shown to this process" +
                       (variables.empty() ? "" : " (" + variables + ")"));
  }
  return out;
}

}  // namespace

std::string public_line(std::string text, const std::string& home, const std::string& host) {
  for (char& c : text)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
  hide_serials(text);
  constexpr std::size_t kShort = 4;  // "/" as home, "gpu" as host would tear words apart
  if (home.size() >= kShort) replace(text, home, "~");
  if (host.size() >= kShort) replace(text, host, "(host)");
  return text + "\n";
}

std::string public_line(const std::string& text) {
  const char* home = std::getenv("HOME");
  utsname name{};
  static_cast<void>(::uname(&name));
  return public_line(text, home != nullptr ? home : "", name.nodename);
}

std::string about(const Lab& lab) {
  const hb_hip_runtime& runtime = lab.runtime();
  utsname name{};
  static_cast<void>(::uname(&name));
  rlimit files{};
  static_cast<void>(::getrlimit(RLIMIT_NOFILE, &files));
  std::string out = public_line(std::string("hipbroker-selftest ") + HIPBROKER_VERSION + ", libhipbroker " +
                                hb_library_version() + ", " + lab.daemon());
  out += public_line(system_name() + ", Linux " + name.release + " " + name.machine + ", amdgpu " +
                     (*runtime.amdgpu != '\0' ? runtime.amdgpu : "not loaded"));
  out += public_line("HIP: " + std::string(*runtime.name != '\0' ? runtime.name : "none") +
                     (*runtime.hsa_path != '\0' ? std::string(", HSA ") + runtime.hsa_path : ""));
  out += public_line("RLIMIT_NOFILE " + std::to_string(files.rlim_cur) + ", vm.max_map_count " +
                     first_line("/proc/sys/vm/max_map_count"));
  return out + devices_text(lab);
}

}  // namespace hb::selftest
