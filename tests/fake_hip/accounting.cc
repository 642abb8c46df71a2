// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "accounting.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <map>
#include <string>
#include <utility>

namespace hb::fakehip {
namespace {

// 63 bits of a lock's start: 21 machine, 7 device line, 35 zero; its length is the page count (35 bits).
constexpr int kPageBits = 35;
constexpr std::uint64_t kPage = 4096;

std::uint64_t range_start(std::uint32_t machine, int line) {
  return (std::uint64_t{machine} << 7 | static_cast<std::uint64_t>(line)) << kPageBits;
}

constexpr int kMostLooks = 100;

// Inode (as the list writes it) -> pages, of the locks that begin at `start`.
std::map<std::string, std::uint64_t> look(std::uint64_t start) {
  std::map<std::string, std::uint64_t> out;
  FILE* f = std::fopen("/proc/locks", "re");
  if (f == nullptr) return out;
  std::array<char, 65'536> buffer;
  std::setvbuf(f, buffer.data(), _IOFBF, buffer.size());
  char text[256];
  while (std::fgets(text, sizeof text, f) != nullptr) {
    char inode[64];
    unsigned long long first = 0;
    unsigned long long last = 0;
    if (std::sscanf(text, "%*s OFDLCK %*s %*s %*s %63s %llu %llu", inode, &first, &last) != 3) continue;
    if (first == start) out[inode] = last - first + 1;
  }
  std::fclose(f);
  return out;
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
  const std::uint64_t start = range_start(machine, line);
  // The kernel gives the list in pieces and counts places, not locks: when any process locks or unlocks
  // something between two pieces, a line is seen twice or not at all. Two equal looks are believed.
  std::map<std::string, std::uint64_t> pages = look(start);
  for (int tries = 0; tries < kMostLooks; ++tries) {
    std::map<std::string, std::uint64_t> again = look(start);
    if (again == pages) break;
    pages = std::move(again);
  }
  std::uint64_t total = 0;
  for (const auto& [inode, count] : pages) total += count;
  return total * kPage;
}

}  // namespace hb::fakehip
