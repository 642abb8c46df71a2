// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#pragma once

#include <cstdint>
#include <string>

#include "wire/unique_fd.h"

namespace hb::os {

// For people only; decides nothing. Bytes as the process chose them: escape before showing.
struct ProcessText {
  std::string command;  // comm: at most 15 bytes
  std::string cgroup;   // at most kCgroupBytes; a longer path keeps its end behind "..."
};
inline constexpr std::size_t kCgroupBytes = 128;

// Both empty when the process cannot be named with certainty: no pid, no pidfd, or dead before or after the
// reading (the number may be another process's by then).
[[nodiscard]] ProcessText process_text(std::uint32_t pid, const UniqueFd& pidfd);

// The path of the unified hierarchy, else of systemd's own, else of the first line.
[[nodiscard]] std::string cgroup_of(const std::string& proc_cgroup_text);

}  // namespace hb::os
