// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#pragma once

#include <string>
#include <vector>

#include "wire/expected.h"
#include "wire/unique_fd.h"

namespace hb::os {

// The listeners a service manager opened for us. They come in another order at each start: go by name.
struct ActivatedSockets {
  UniqueFd broker;  // FileDescriptorName=broker
  UniqueFd admin;   // FileDescriptorName=admin
};

// Both empty without activation. The environment variables are removed, so that no child inherits them. The
// error names the descriptor that is not a listening SOCK_SEQPACKET unix socket or bears another name.
[[nodiscard]] tl::expected<ActivatedSockets, std::string> take_activated_sockets();

}  // namespace hb::os
