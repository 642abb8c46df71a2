// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "accounting.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>

namespace hb::fakehip {
namespace {

// 63 bits of a lock's start: 21 machine, 7 device line, 35 zero; its length is the page count (35 bits).
constexpr int kPageBits = 35;
constexpr std::uint64_t kPage = 4096;

std::uint64_t range_start(std::uint32_t machine, int line) {
  return (std::uint64_t{machine} << 7 | static_cast<std::uint64_t>(line)) << kPageBits;
}

}  // namespace

std::uint32_t machine_number(std::string_view state_name) {
  std::uint32_t hash = 2'166'136'261u;  // FNV-1a
  for (const char c : state_name) hash = (hash ^ static_cast<unsigned char>(c)) * 16'777'619u;
  return (hash ^ hash >> 21) & 0x1fffff;
}

bool account(int memfd, std::uint32_t machine, int line, std::uint64_t bytes) {
  struct flock lock = {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = static_cast<off_t>(range_start(machine, line));
  lock.l_len = static_cast<off_t>(bytes / kPage);
  return ::fcntl(memfd, F_OFD_SETLK, &lock) == 0;
}

std::uint64_t accounted_bytes(std::uint32_t machine, int line) {
  const std::uint64_t wanted = range_start(machine, line);
  std::uint64_t pages = 0;
  FILE* f = std::fopen("/proc/locks", "re");
  if (f == nullptr) return 0;
  char text[256];
  while (std::fgets(text, sizeof text, f) != nullptr) {
    unsigned long long first = 0;
    unsigned long long last = 0;
    if (std::sscanf(text, "%*s OFDLCK %*s %*s %*s %*s %llu %llu", &first, &last) != 2) continue;
    if (first == wanted) pages += last - first + 1;
  }
  std::fclose(f);
  return pages * kPage;
}

}  // namespace hb::fakehip
