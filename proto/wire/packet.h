// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#pragma once

#include <cstddef>
#include <vector>

#include "wire/unique_fd.h"

namespace hb {

// One frame as it travels: its bytes and exactly its own descriptors.
struct Packet {
  std::vector<std::byte> bytes;
  std::vector<UniqueFd> fds;
};

}  // namespace hb
