// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "os/process_info.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <string_view>

#include "os/peer_credentials.h"

namespace hb::os {
namespace {

std::string read_small(const std::string& path) {
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return {};
  std::array<char, 4096> buffer{};
  const ssize_t bytes = ::read(file.get(), buffer.data(), buffer.size());
  return bytes > 0 ? std::string(buffer.data(), static_cast<std::size_t>(bytes)) : std::string();
}

}  // namespace

std::string cgroup_of(const std::string& proc_cgroup_text) {
  std::string_view rest = proc_cgroup_text;
  std::string_view unified;
  std::string_view systemd;
  std::string_view first;
  while (!rest.empty()) {
    const std::size_t end = rest.find('\n');
    const std::string_view line = rest.substr(0, end);
    rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
    const std::size_t controllers = line.find(':');
    if (controllers == std::string_view::npos) continue;
    const std::size_t path = line.find(':', controllers + 1);
    if (path == std::string_view::npos) continue;
    const std::string_view names = line.substr(controllers + 1, path - controllers - 1);
    const std::string_view value = line.substr(path + 1);
    if (names.empty()) unified = value;
    if (names == "name=systemd") systemd = value;
    if (first.empty()) first = value;
  }
  std::string_view best = unified;
  if (best.size() <= 1 && systemd.size() > 1) best = systemd;
  if (best.size() <= 1 && first.size() > 1) best = first;
  if (best.size() <= kCgroupBytes) return std::string(best);
  return "..." + std::string(best.substr(best.size() - (kCgroupBytes - 3)));
}

ProcessText process_text(std::uint32_t pid, const UniqueFd& pidfd) {
  if (pid == 0 || !pidfd || !process_alive(pidfd)) return {};
  const std::string directory = "/proc/" + std::to_string(pid);
  ProcessText text;
  text.command = read_small(directory + "/comm");
  if (!text.command.empty() && text.command.back() == '\n') text.command.pop_back();
  text.cgroup = cgroup_of(read_small(directory + "/cgroup"));
  if (!process_alive(pidfd)) return {};
  return text;
}

}  // namespace hb::os
