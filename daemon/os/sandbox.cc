// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "os/sandbox.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include <array>
#include <ctime>
#include <utility>

#include "os/capabilities.h"
#include "os/system_calls.h"
#include "wire/sys_error.h"
#include "wire/unique_fd.h"

namespace hb::os {
namespace {

constexpr std::array<std::pair<std::uint32_t, const char*>, 4> kLayers{
    {{kSandboxNoNewPrivileges, "no new privileges"},
     {kSandboxNoCapabilities, "no capabilities"},
     {kSandboxSystemCalls, "system calls by list"},
     {kSandboxFiles, "files by Landlock"}}};

tl::expected<std::size_t, SysError> count_threads() {
  DIR* directory = ::opendir("/proc/self/task");
  if (directory == nullptr) return tl::unexpected(SysError::last("opendir(/proc/self/task)"));
  std::size_t threads = 0;
  while (const dirent* entry = ::readdir(directory)) {
    if (entry->d_name[0] != '.') ++threads;
  }
  ::closedir(directory);
  return threads;
}

// A core of the daemon would put the secrets of every key on disk, and a process of its own uid could trace
// it. Kernels before 5.14 then hide the daemon's /proc/self/fdinfo from itself, which is where a dma-buf
// shows: there only the size of a core is limited.
tl::expected<void, std::string> forbid_cores() {
  const rlimit none{0, 0};
  if (::setrlimit(RLIMIT_CORE, &none) != 0) {
    return tl::unexpected(SysError::last("setrlimit(RLIMIT_CORE)").text());
  }
  if (::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0) {
    return tl::unexpected(SysError::last("prctl(PR_SET_DUMPABLE)").text());
  }
  const UniqueFd some(::open("/proc/self/fd", O_PATH | O_CLOEXEC));
  const std::string info = "/proc/self/fdinfo/" + std::to_string(some.get());
  if (UniqueFd(::open(info.c_str(), O_RDONLY | O_CLOEXEC))) return {};
  if (::prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) != 0) {
    return tl::unexpected(SysError::last("prctl(PR_SET_DUMPABLE)").text());
  }
  return {};
}

}  // namespace

std::string SandboxState::text() const {
  std::string out;
  for (const auto& [bit, name] : kLayers) {
    if ((layers & bit) == 0) continue;
    out += (out.empty() ? "" : ", ") + std::string(name);
    if (bit == kSandboxFiles) out += " " + std::to_string(landlock_version);
  }
  return out.empty() ? "none" : out;
}

tl::expected<SandboxState, std::string> enter_sandbox(const FileView& files) {
  ::tzset();  // reads /etc/localtime, which is out of sight afterwards
  const auto threads = count_threads();
  if (!threads) return tl::unexpected(threads.error().text());
  if (*threads != 1) {
    return tl::unexpected(std::to_string(*threads) + " threads run already, and those would stay outside");
  }
  SandboxState state;
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) {
    return tl::unexpected(SysError::last("prctl(PR_SET_NO_NEW_PRIVS)").text());
  }
  state.layers |= kSandboxNoNewPrivileges;
  if (auto forbidden = forbid_cores(); !forbidden) return tl::unexpected(std::move(forbidden.error()));
  if (const auto version = restrict_files(files)) {
    state.layers |= kSandboxFiles;
    state.landlock_version = *version;
  } else {
    state.missing.push_back("files by Landlock: " + version.error());
  }
  if (auto dropped = drop_capabilities(); !dropped) return tl::unexpected(dropped.error().text());
  state.layers |= kSandboxNoCapabilities;
  // Last: what the others needed is not on its list.
  if (const auto restricted = restrict_system_calls()) {
    state.layers |= kSandboxSystemCalls;
  } else {
    state.missing.push_back("system calls by list: " + restricted.error());
  }
  return state;
}

}  // namespace hb::os
