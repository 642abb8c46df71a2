// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Bodies of administration: read into plain values, answers written as frames. Not on any hot path.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "ipc/administration.h"
#include "wire/frame.h"

namespace hb::ipc {

[[nodiscard]] bool is_admin_request(FrameType type);
[[nodiscard]] tl::expected<AdminRequest, EdgeError> read_admin(FrameType type,
                                                               std::span<const std::byte> body);
// An answer that fits no frame becomes an error frame.
[[nodiscard]] std::vector<std::byte> write_admin(FrameType type, std::uint64_t request_id,
                                                 const AdminReply& reply);

}  // namespace hb::ipc
