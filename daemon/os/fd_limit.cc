// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "os/fd_limit.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/resource.h>

#include <algorithm>

#include "wire/unique_fd.h"

namespace hb::os {

tl::expected<FdLimit, SysError> raise_fd_limit() {
  rlimit limits{};
  if (::getrlimit(RLIMIT_NOFILE, &limits) != 0) return tl::unexpected(SysError::last("getrlimit(NOFILE)"));
  FdLimit result{limits.rlim_cur, limits.rlim_cur, limits.rlim_max};
  if (limits.rlim_cur == limits.rlim_max) return result;
  limits.rlim_cur = limits.rlim_max;
  // A hard limit above fs.nr_open cannot be reached: the inherited one then stays, and the start-up line
  // shows it.
  if (::setrlimit(RLIMIT_NOFILE, &limits) == 0) result.limit = limits.rlim_max;
  return result;
}

tl::expected<void, SysError> grow_descriptor_table(std::uint64_t limit) {
  constexpr std::uint64_t kMost = 1u << 20;
  if (limit < 64) return {};
  UniqueFd null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (!null) return tl::unexpected(SysError::last("open(/dev/null)"));
  const UniqueFd high(::fcntl(null.get(), F_DUPFD_CLOEXEC, static_cast<int>(std::min(limit, kMost) - 1)));
  if (!high) return tl::unexpected(SysError::last("fcntl(F_DUPFD_CLOEXEC)"));
  return {};
}

tl::expected<std::uint64_t, SysError> count_own_descriptors() {
  DIR* directory = ::opendir("/proc/self/fd");
  if (directory == nullptr) return tl::unexpected(SysError::last("opendir(/proc/self/fd)"));
  std::uint64_t entries = 0;
  while (const dirent* entry = ::readdir(directory)) {
    if (entry->d_name[0] != '.') ++entries;
  }
  ::closedir(directory);
  return entries - 1;  // the directory itself
}

}  // namespace hb::os
