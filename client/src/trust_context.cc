// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Who the caller is, and what a uid means in its user namespace.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <charconv>
#include <cinttypes>
#include <cstdio>

#include "socket_trust.h"

namespace hb::client {
namespace {

// Empty where it cannot be read.
std::string read_small(const char* path) {
  std::string text;
  const UniqueFd file(::open(path, O_RDONLY | O_CLOEXEC));
  if (!file) return text;
  char buffer[4096];
  for (ssize_t n; (n = ::read(file.get(), buffer, sizeof buffer)) > 0;)
    text.append(buffer, static_cast<std::size_t>(n));
  return text;
}

}  // namespace

TrustContext TrustContext::of_process() {
  constexpr const char* kMap = "/proc/self/uid_map";
  TrustContext context;
  context.uid = ::geteuid();
  // Lines of "inside outside count"; none in a namespace that is not mapped yet. No file: no namespaces.
  if (::access(kMap, F_OK) != 0) return context;
  const std::string map = read_small(kMap);
  std::uint64_t mapped = 0;
  for (std::size_t at = 0; at < map.size();) {
    std::uint64_t count = 0;
    if (std::sscanf(map.c_str() + at, "%*u %*u %" SCNu64, &count) == 1) mapped += count;
    const std::size_t end = map.find('\n', at);
    at = end == std::string::npos ? map.size() : end + 1;
  }
  if (mapped >= UINT32_MAX) return context;
  std::uint32_t overflow = 65534;
  const std::string number = read_small("/proc/sys/kernel/overflowuid");
  std::from_chars(number.data(), number.data() + number.size(), overflow);
  context.nobody_in_particular = overflow;
  // The kernel's own files are the real root's. The map does not say it: its outside may be a namespace, too.
  struct stat kernels {};
  if (::stat("/proc/sys/kernel", &kernels) != 0 || kernels.st_uid == overflow) context.hidden_root = overflow;
  return context;
}

}  // namespace hb::client
