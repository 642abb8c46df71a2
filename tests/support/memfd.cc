// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "support/memfd.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <vector>

namespace hb::test {
namespace {

[[noreturn]] void fail(const char* call) {
  throw std::runtime_error(std::string(call) + ": " + ::strerrorname_np(errno));
}

// The bytes of one piece of the pattern: [from, from + bytes) of an object of `total` bytes.
std::vector<unsigned char> head_of(std::uint64_t bytes, std::uint64_t number) {
  std::vector<unsigned char> out(static_cast<std::size_t>(std::min(bytes, kPage)),
                                 static_cast<unsigned char>(number & 0xff));
  std::memcpy(out.data(), &number, std::min<std::size_t>(sizeof number, out.size()));
  return out;
}

std::string compare(const unsigned char* got, const std::vector<unsigned char>& want, std::uint64_t at) {
  for (std::size_t i = 0; i < want.size(); ++i)
    if (got[i] != want[i])
      return "byte " + std::to_string(at + i) + " is " + std::to_string(got[i]) + ", should be " +
             std::to_string(want[i]);
  return {};
}

}  // namespace

UniqueFd plain_memfd(std::uint64_t bytes, unsigned flags) {
  UniqueFd fd(::memfd_create("hbtest", flags | MFD_CLOEXEC));
  if (!fd) fail("memfd_create");
  if (::ftruncate(fd.get(), static_cast<off_t>(bytes)) != 0) fail("ftruncate");
  return fd;
}

void put_pattern(int fd, std::uint64_t offset, std::uint64_t bytes, std::uint64_t number) {
  if (bytes == 0) return;
  const std::vector<unsigned char> head = head_of(bytes, number);
  if (::pwrite(fd, head.data(), head.size(), static_cast<off_t>(offset)) != static_cast<ssize_t>(head.size()))
    fail("pwrite");
  if (bytes < 2 * kPage) return;
  const std::vector<unsigned char> tail(kPage, static_cast<unsigned char>(number & 0xff));
  if (::pwrite(fd, tail.data(), tail.size(), static_cast<off_t>(offset + bytes - kPage)) !=
      static_cast<ssize_t>(tail.size()))
    fail("pwrite");
}

UniqueFd sealed_memfd(std::uint64_t bytes, std::uint64_t number, int seals) {
  UniqueFd fd = plain_memfd(bytes);
  put_pattern(fd.get(), 0, bytes, number);
  if (::fcntl(fd.get(), F_ADD_SEALS, seals) != 0) fail("F_ADD_SEALS");
  return fd;
}

UniqueFd reopen(int fd, int flags) {
  UniqueFd out(::open(("/proc/self/fd/" + std::to_string(fd)).c_str(), flags | O_CLOEXEC));
  if (!out) fail("open /proc/self/fd");
  return out;
}

std::string pattern_error(int fd, std::uint64_t offset, std::uint64_t bytes, std::uint64_t number) {
  const std::vector<unsigned char> head = head_of(bytes, number);
  std::vector<unsigned char> got(kPage);
  if (::pread(fd, got.data(), head.size(), static_cast<off_t>(offset)) != static_cast<ssize_t>(head.size()))
    return std::string("pread: ") + ::strerrorname_np(errno);
  std::string error = compare(got.data(), head, 0);
  if (!error.empty() || bytes < 2 * kPage) return error;
  if (::pread(fd, got.data(), kPage, static_cast<off_t>(offset + bytes - kPage)) !=
      static_cast<ssize_t>(kPage))
    return std::string("pread of the end: ") + ::strerrorname_np(errno);
  return compare(got.data(), std::vector<unsigned char>(kPage, static_cast<unsigned char>(number & 0xff)),
                 bytes - kPage);
}

std::string pattern_error(const void* memory, std::uint64_t bytes, std::uint64_t number) {
  const auto* at = static_cast<const unsigned char*>(memory);
  const std::string error = compare(at, head_of(bytes, number), 0);
  if (!error.empty() || bytes < 2 * kPage) return error;
  return compare(at + bytes - kPage,
                 std::vector<unsigned char>(kPage, static_cast<unsigned char>(number & 0xff)), bytes - kPage);
}

}  // namespace hb::test
