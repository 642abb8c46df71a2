// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "fd_room.h"

#include <cerrno>

#include <dirent.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>

#include "clock.h"
#include "wire/limits.h"

namespace hb::client {
namespace {

std::uint64_t count_open() {
  // Since Linux 6.2 the size of the directory is the number of open descriptors.
  struct stat st {};
  if (::stat("/proc/self/fd", &st) == 0 && st.st_size > 0) return static_cast<std::uint64_t>(st.st_size);
  DIR* dir = ::opendir("/proc/self/fd");
  if (dir == nullptr) return 0;
  std::uint64_t count = 0;
  while (const dirent* entry = ::readdir(dir))
    if (entry->d_name[0] != '.') ++count;
  ::closedir(dir);
  return count > 0 ? count - 1 : 0;  // without the one that lists
}

constexpr std::uint64_t kKeepNs = 5'000'000;
std::atomic<std::uint64_t> g_counted_at{0};

}  // namespace

FdRoom fd_room() {
  FdRoom room;
  rlimit limit{};
  room.limit = ::getrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur : 0;
  room.open = count_open();
  return room;
}

std::uint32_t fds_per_page() {
  const std::uint64_t now = now_ns();
  const std::uint64_t at = g_counted_at.load(std::memory_order_relaxed);
  if (at != 0 && now - at < kKeepNs) return static_cast<std::uint32_t>(limits::kFrameFds);
  const std::uint64_t half = fd_room().free() / 2;
  // Remembered only where thousands are free: no burst of a few milliseconds gets from there to the limit,
  // and if one does, the truncated page is asked for again in halves.
  g_counted_at.store(half > 8 * limits::kFrameFds ? now : 0, std::memory_order_relaxed);
  return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(half, 1, limits::kFrameFds));
}

Error no_fds(const FdRoom& room, std::uint64_t need, const std::string& doing) {
  Error error =
      limit_error(HB_NO_FDS, "RLIMIT_NOFILE", need, room.limit,
                  doing + " needs " + std::to_string(need) + " descriptors; RLIMIT_NOFILE is " +
                      std::to_string(room.limit) + " and " + std::to_string(room.open) +
                      " are open. Raise the soft limit (ulimit -n), use larger chunks, or close some");
  error.who = "this process";
  return error;
}

Error duplicate_error(const SysError& cause, const std::string& doing) {
  return cause.code == EMFILE ? no_fds(fd_room(), 1, doing) : system_error(cause, doing);
}

}  // namespace hb::client
