// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "wire/expected.h"
#include "wire/unique_fd.h"

namespace hb::os {

// What a service manager hands to a process that it starts. It comes in another order at each start, and
// PID 1 drops what it thinks is there twice: go by name, never by position.
struct Inherited {
  UniqueFd broker;                                      // listening sockets: FileDescriptorName=broker
  UniqueFd admin;                                       // FileDescriptorName=admin
  std::map<std::string, std::vector<UniqueFd>> stored;  // of the descriptor store; names may repeat

  struct Surplus {
    std::string name;
    UniqueFd fd;
  };
  std::vector<Surplus> surplus;  // of names that nobody here knows: to be closed, and to be told
};

// Whether a name is one of those this program stores descriptors under.
using IsStoredName = std::function<bool(std::string_view name)>;

// All is empty where nothing was handed over. Close-on-exec is set on every one, and the environment
// variables are removed, so that no child inherits them. The error names the listening socket that is not a
// SOCK_SEQPACKET unix socket, comes twice, or bears a name that no listener has.
[[nodiscard]] tl::expected<Inherited, std::string> take_inherited(const IsStoredName& is_stored = {});

}  // namespace hb::os
