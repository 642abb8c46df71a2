// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "conf/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "wire/name.h"
#include "wire/sys_error.h"
#include "wire/unique_fd.h"

namespace hb::conf {
namespace {

std::string kind_of(mode_t mode) {
  if (S_ISDIR(mode)) return "a directory";
  if (S_ISFIFO(mode)) return "a FIFO";
  return S_ISCHR(mode) || S_ISBLK(mode) ? "a device" : "a special file";
}

}  // namespace

tl::expected<std::string, Errors> read_file(const std::string& file) {
  const auto refuse = [&file](const std::string& why) {
    return tl::unexpected(Errors{escape_for_display(file) + ": " + why});
  };
  // Without O_NONBLOCK the open of a FIFO waits for a writer, and what it is cannot be told before.
  const UniqueFd fd(::open(file.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (!fd) return refuse(SysError::last("open").text());
  struct stat status {};
  if (::fstat(fd.get(), &status) != 0) return refuse(SysError::last("fstat").text());
  if (!S_ISREG(status.st_mode)) return refuse("is " + kind_of(status.st_mode) + ", expected a regular file");
  const auto too_large = [&refuse](std::uint64_t bytes) {
    return refuse("has " + std::to_string(bytes) + " bytes, the limit is " + std::to_string(kMostFileBytes));
  };
  if (static_cast<std::uint64_t>(status.st_size) > kMostFileBytes) {
    return too_large(static_cast<std::uint64_t>(status.st_size));
  }
  std::string text;
  std::array<char, 4096> buffer{};
  for (;;) {
    const ssize_t bytes = ::read(fd.get(), buffer.data(), buffer.size());
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes < 0) return refuse(SysError::last("read").text());
    if (bytes == 0) return text;
    text.append(buffer.data(), static_cast<std::size_t>(bytes));
    // It grew since fstat(), or is of a file system that says 0.
    if (text.size() > kMostFileBytes) return too_large(text.size());
  }
}

}  // namespace hb::conf
