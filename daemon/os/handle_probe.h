// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// What a received descriptor is, found out by calls that cannot block. A hostile descriptor (a FUSE file
// whose server does not answer, a socket that lingers) blocks fstat, lseek, ioctl, poll and close for as long
// as its maker likes; so a descriptor is asked for more only after a call that cannot block has told its
// kind.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/types.h"
#include "wire/expected.h"
#include "wire/unique_fd.h"

namespace hb::os {

// A driver's own handle type that the configuration lets in: its size and identity are only declared.
struct DriverRule {
  enum class Kind : std::uint8_t { kCharDevice, kAnonymous };
  Kind kind = Kind::kCharDevice;
  std::uint32_t major = 0;
  std::uint32_t minor = 0;
  std::string name;  // of an anonymous inode, as readlink shows it behind "anon_inode:"
};

struct ProbeRefusal {
  std::string reason;      // one sentence without a full stop: "a pipe; the broker keeps ..."
  bool may_block = false;  // close() of it may block: never on the loop, never on the memory lane
};

// `id` of the facts is left empty.
[[nodiscard]] tl::expected<core::HandleFacts, ProbeRefusal> probe_handle(
    const UniqueFd& fd, const std::vector<DriverRule>& allowed);

// What read-only means for a memfd that is reopened for one reader (design section 7).
struct ReopenFacts {
  std::uint32_t owner_uid = 0;
  std::uint32_t mode = 0;
};
[[nodiscard]] tl::expected<ReopenFacts, std::string> reopen_facts(const UniqueFd& memfd);

}  // namespace hb::os
