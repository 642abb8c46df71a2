// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// What the daemon gives up once it serves: nothing that it would still need, for whoever takes it over as
// little as possible. Four layers, each of which a kernel or a container may lack.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "os/landlock.h"
#include "wire/expected.h"

namespace hb::os {

// Bits; values are fixed for ever: they go on the wire.
inline constexpr std::uint32_t kSandboxTold =
    1;  // always there: it tells "off" from a daemon that does not tell
inline constexpr std::uint32_t kSandboxNoNewPrivileges = 2;
inline constexpr std::uint32_t kSandboxNoCapabilities = 4;
inline constexpr std::uint32_t kSandboxSystemCalls = 8;
inline constexpr std::uint32_t kSandboxFiles = 16;

struct SandboxState {
  std::uint32_t layers = kSandboxTold;
  int landlock_version = 0;
  std::vector<std::string> missing;  // a layer each, with the reason

  // "no new privileges, no capabilities, ..." for the log.
  [[nodiscard]] std::string text() const;
};

// For ever. Must come before the first thread: capabilities and the view of files are a thread's own, and
// those that run already would keep theirs. Layers that the kernel lacks are told in `missing`; the error is
// for what no kernel refuses.
[[nodiscard]] tl::expected<SandboxState, std::string> enter_sandbox(const FileView& files);

}  // namespace hb::os
