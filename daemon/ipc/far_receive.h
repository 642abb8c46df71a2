// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// One packet received on a thread of the quarantine lane. Where there are fewer free numbers than a packet
// may have descriptors, the kernel closes the surplus inside recvmsg, and that takes as long as their maker
// likes.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "ipc/in_flight.h"
#include "wire/limits.h"
#include "wire/packet_socket.h"
#include "wire/sys_error.h"
#include "wire/unique_fd.h"

namespace hb::ipc {

// Shared by the session and the thread. The thread writes `received` and `error`, the loop reads them when it
// has been told; the rest is the loop's.
struct FarReceive {
  std::vector<std::byte> buffer = std::vector<std::byte>(limits::kFrameBytes);
  Received received;
  std::optional<SysError> error;
  // Of a session that ended meanwhile: the number must not go to another yet.
  UniqueFd socket;
  std::unique_ptr<InFlight::Line> line;
};

}  // namespace hb::ipc
