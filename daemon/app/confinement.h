// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// The way from the process that was started to the one that serves: another user, and the sandbox.
#pragma once

#include <optional>
#include <string>

#include "app/options.h"
#include "os/sandbox.h"
#include "wire/expected.h"

namespace hb::app {

// In a user namespace some uids of clients may have no number: says so, and refuses one without any.
[[nodiscard]] tl::expected<void, Exit> check_user_namespace();

// Becomes the user of the settings, where there is one, in directories of that user. Before any socket is
// made, so that each is the user's own; says so where root serves without need.
[[nodiscard]] tl::expected<void, Exit> become_user(const Settings& settings);

// After the sockets are made, before the first thread. Nothing when it is off; what holds is logged.
[[nodiscard]] tl::expected<os::SandboxState, Exit> enter_sandbox(const Settings& settings);

// What the daemon goes on to open by path.
[[nodiscard]] os::FileView files_of(const Settings& settings);

}  // namespace hb::app
