// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// The one owner of a descriptor. Move-only; adopting and duplicating are said aloud. Not thread-safe
// for one object; different objects are independent.
#pragma once

#include <fcntl.h>
#include <unistd.h>
#include <cerrno>
#include <utility>

namespace hb {

class UniqueFd {
 public:
  UniqueFd() noexcept = default;
  // Takes over `fd`; the caller must not close it. A negative number is "none".
  explicit UniqueFd(int fd) noexcept : fd_(fd) {}
  UniqueFd(UniqueFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept {
    if (this != &other) reset(std::exchange(other.fd_, -1));
    return *this;
  }
  UniqueFd(const UniqueFd&) = delete;
  UniqueFd& operator=(const UniqueFd&) = delete;
  ~UniqueFd() { reset(); }

  // Borrowed: valid while this object owns it.
  [[nodiscard]] int get() const noexcept { return fd_; }
  [[nodiscard]] explicit operator bool() const noexcept { return fd_ >= 0; }
  // Gives ownership away.
  [[nodiscard]] int release() noexcept { return std::exchange(fd_, -1); }
  void reset(int fd = -1) noexcept {
    const int old = std::exchange(fd_, fd);
    if (old < 0) return;
    // errno is kept: destructors run on error paths before the cause is read. Linux frees the number
    // even when close() reports EINTR, so it is never tried twice.
    const int saved = errno;
    ::close(old);
    errno = saved;
  }
  // A second descriptor of the same open file, close-on-exec and never 0, 1 or 2 (HIP cannot import
  // descriptor 0). Empty with errno set when the kernel refuses.
  [[nodiscard]] UniqueFd duplicate() const noexcept { return UniqueFd(::fcntl(fd_, F_DUPFD_CLOEXEC, 3)); }

 private:
  int fd_ = -1;
};

// A descriptor lent by whoever owns it, for as long as that owner keeps it. Never closed through this.
class BorrowedFd {
 public:
  BorrowedFd() noexcept = default;
  BorrowedFd(const UniqueFd& owner) noexcept : fd_(owner.get()) {}  // NOLINT: lending is implicit
  // Of a caller outside of C++: a number from the C ABI.
  [[nodiscard]] static BorrowedFd of_caller(int fd) noexcept {
    BorrowedFd lent;
    lent.fd_ = fd;
    return lent;
  }
  [[nodiscard]] int get() const noexcept { return fd_; }

 private:
  int fd_ = -1;
};

}  // namespace hb
