// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// One message to the service manager ($NOTIFY_SOCKET). libsystemd's own sd_notify() sends with a blocking
// socket: while the manager is busy (it takes seconds over a full descriptor store) the event loop would
// stand still, and here it does not for longer than it said.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "wire/expected.h"
#include "wire/unique_fd.h"

namespace hb::os {

inline constexpr std::size_t kNotifyFds = 253;  // SCM_MAX_FD of the kernel
inline constexpr std::uint64_t kNotifyWaitNs = 200'000'000;

// Whether there is a manager to talk to.
[[nodiscard]] bool notify_wanted();

// Lines as "READY=1\nSTATUS=serving". At most kNotifyFds descriptors; they stay the caller's. The error says
// where it was sent to and why it did not get there; nothing is an error where there is no manager.
[[nodiscard]] tl::expected<void, std::string> notify_send(const std::string& lines,
                                                          std::span<const BorrowedFd> fds = {},
                                                          std::uint64_t wait_ns = kNotifyWaitNs);

}  // namespace hb::os
