// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "os/capabilities.h"

#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace hb::os {
namespace {

using CapabilitySets = std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3>;

bool holds_none() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  CapabilitySets held{};
  if (::syscall(SYS_capget, &header, held.data()) != 0) return false;
  return std::all_of(held.begin(), held.end(), [](const __user_cap_data_struct& set) {
    return (set.effective | set.permitted | set.inheritable) == 0;
  });
}

}  // namespace

tl::expected<void, SysError> drop_bounding_set() {
  for (unsigned long capability = 0; ::prctl(PR_CAPBSET_READ, capability, 0, 0, 0) >= 0; ++capability) {
    if (::prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) != 0 && errno != EPERM) {
      return tl::unexpected(SysError::last("prctl(PR_CAPBSET_DROP)"));
    }
  }
  return {};
}

tl::expected<void, SysError> drop_capabilities() {
  if (auto dropped = drop_bounding_set(); !dropped) return dropped;
  // EINVAL: a kernel before 4.3, which has no ambient set.
  if (::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) != 0 && errno != EINVAL) {
    return tl::unexpected(SysError::last("prctl(PR_CAP_AMBIENT)"));
  }
  // A service manager's filter of system calls may forbid capset (@privileged) where nothing is left to drop.
  if (holds_none()) return {};
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  const CapabilitySets none{};
  if (::syscall(SYS_capset, &header, none.data()) != 0) return tl::unexpected(SysError::last("capset"));
  return {};
}

}  // namespace hb::os
