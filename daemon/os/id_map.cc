// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "os/id_map.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cinttypes>
#include <cstdio>
#include <optional>

#include "wire/unique_fd.h"

namespace hb::os {
namespace {

std::optional<std::string> read_small(const char* path) {
  const UniqueFd file(::open(path, O_RDONLY | O_CLOEXEC));
  if (!file) return std::nullopt;
  std::string text;
  std::array<char, 4096> buffer{};  // a map has at most 340 lines
  for (ssize_t bytes; (bytes = ::read(file.get(), buffer.data(), buffer.size())) > 0;) {
    text.append(buffer.data(), static_cast<std::size_t>(bytes));
  }
  return text;
}

IdMap read_map(const char* map, const char* overflow) {
  IdMap out;
  const auto lines = read_small(map);
  out.mapped = lines ? count_mapped(*lines) : UINT32_MAX;
  if (const auto number = read_small(overflow)) {
    std::from_chars(number->data(), number->data() + number->size(), out.overflow);
  }
  return out;
}

}  // namespace

std::uint64_t count_mapped(const std::string& text) {
  std::uint64_t mapped = 0;
  for (std::size_t at = 0; at < text.size();) {
    std::uint64_t count = 0;
    if (std::sscanf(text.c_str() + at, "%*u %*u %" SCNu64, &count) == 1) mapped += count;
    const std::size_t end = text.find('\n', at);
    at = end == std::string::npos ? text.size() : end + 1;
  }
  return mapped;
}

IdMaps IdMaps::of_process() {
  return {read_map("/proc/self/uid_map", "/proc/sys/kernel/overflowuid"),
          read_map("/proc/self/gid_map", "/proc/sys/kernel/overflowgid")};
}

}  // namespace hb::os
