// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// GPUs as the C ABI shows them.
#pragma once

#include <vector>

#include "hipbroker/hipbroker.h"
#include "providers/placement.h"

namespace hb::client {

[[nodiscard]] hb_device_id device_id_of(const DeviceId& id) noexcept;
[[nodiscard]] std::vector<hb_peer> peer_list(const std::vector<PeerGrant>& peers);

}  // namespace hb::client
