// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Who is at the other end of a unix socket, as the kernel tells it. Never from a message.
#pragma once

#include <cstdint>
#include <vector>

#include "os/id_map.h"
#include "wire/expected.h"
#include "wire/sys_error.h"
#include "wire/unique_fd.h"

namespace hb::os {

enum class PidfdSource : std::uint8_t {
  kSocket,      // SO_PEERPIDFD (Linux 6.5)
  kOpened,      // pidfd_open of the pid, then seen to be the same user's
  kNoPid,       // no SO_PEERPIDFD here, and the peer is outside our pid namespace
  kUnverified,  // no SO_PEERPIDFD here, and the pid is another user's by now: it was used again
  kNoKernel,    // neither call exists
};

struct PeerCredentials {
  std::uint32_t pid = 0;  // 0 = not visible from here, or not certain; /proc/0 is never looked at
  std::uint32_t uid = 0;
  bool uid_known = true;  // false: the uid has no number in our user namespace, `uid` may be anyone
  std::uint32_t gid = 0;
  std::vector<std::uint32_t>
      groups;      // sorted, without duplicates, gid included; without those of no number here
  UniqueFd pidfd;  // readable at the process's death; empty where the source says why
  PidfdSource source = PidfdSource::kNoKernel;
};

struct PeerFailure {
  bool dead = false;
  SysError error;  // when not dead
};

// The uid alone, before anything that costs.
[[nodiscard]] tl::expected<std::uint32_t, SysError> peer_uid(const UniqueFd& socket);

// Credentials are those of connect() time: neither setuid nor fork nor death changes them.
[[nodiscard]] tl::expected<PeerCredentials, PeerFailure> peer_credentials(const UniqueFd& socket);

// Takes out what stands for nobody in particular.
void drop_unmapped(PeerCredentials& peer, const IdMaps& maps);

// False once the process behind `pidfd` has ended (a zombie has).
[[nodiscard]] bool process_alive(const UniqueFd& pidfd);

}  // namespace hb::os
