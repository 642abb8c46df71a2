// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "providers/hip/owned_handle.h"

#include <fcntl.h>
#include <linux/kcmp.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>

#include "fd_room.h"
#include "providers/hip/driver.h"

namespace hb::client::hip {
namespace {

std::atomic<std::uint64_t> g_teardown_failures{0};

bool same_open_file(int a, int b) {
  return ::syscall(SYS_kcmp, ::getpid(), ::getpid(), KCMP_FILE, static_cast<unsigned long>(a),
                   static_cast<unsigned long>(b)) == 0;
}

std::pair<dev_t, ino_t> file_of(int number) {
  struct stat status {};
  if (::fstat(number, &status) != 0) return {};
  return {status.st_dev, status.st_ino};
}

}  // namespace

void note_teardown(HipError code) {
  if (code != kSuccess) g_teardown_failures.fetch_add(1, std::memory_order_relaxed);
}

std::uint64_t teardown_failures() { return g_teardown_failures.load(std::memory_order_relaxed); }

OwnedHandle::OwnedHandle(OwnedHandle&& other) noexcept
    : context_(std::move(other.context_)),
      handle_(std::exchange(other.handle_, nullptr)),
      shared_number_(std::exchange(other.shared_number_, -1)),
      shared_duplicate_(std::move(other.shared_duplicate_)),
      shared_file_(other.shared_file_) {}

void OwnedHandle::swap(OwnedHandle& other) noexcept {
  std::swap(context_, other.context_);
  std::swap(handle_, other.handle_);
  std::swap(shared_number_, other.shared_number_);
  std::swap(shared_duplicate_, other.shared_duplicate_);
  std::swap(shared_file_, other.shared_file_);
}

OwnedHandle::~OwnedHandle() { release(); }

Result<UniqueFd> OwnedHandle::export_descriptor(const std::string& doing) {
  const auto no_duplicate = [&doing] {
    return fail(duplicate_error(SysError::last("fcntl(F_DUPFD_CLOEXEC)"), doing));
  };
  if (!shared_duplicate_) {
    int number = -1;
    const HipError code = context_->hip().hipMemExportToShareableHandle(&number, handle_, kHandleFd, 0);
    if (code != kSuccess)
      return fail(driver_error(context_->hip(), "hipMemExportToShareableHandle", code, doing));
    if (!context_->quirks.on(Quirk::kSharedExportDescriptor)) {
      UniqueFd fresh(number);
      if (number >= 3 && ::fcntl(number, F_SETFD, FD_CLOEXEC) == 0) return fresh;
      UniqueFd moved = fresh.duplicate();
      if (!moved) return no_duplicate();
      return moved;
    }
    shared_number_ = number;
    shared_file_ = file_of(number);
    shared_duplicate_ = UniqueFd(::fcntl(number, F_DUPFD_CLOEXEC, 3));
    if (!shared_duplicate_) return no_duplicate();
  }
  UniqueFd out = shared_duplicate_.duplicate();
  if (!out) return no_duplicate();
  return out;
}

void OwnedHandle::release() {
  if (handle_ == nullptr) return;
  note_teardown(context_->hip().hipMemRelease(std::exchange(handle_, nullptr)));
  const int number = std::exchange(shared_number_, -1);
  // Only if the number is still that file: whether a runtime closes it with the handle is not established.
  const bool still_that = number >= 0 && (shared_duplicate_ ? same_open_file(number, shared_duplicate_.get())
                                                            : file_of(number) == shared_file_);
  if (still_that && !context_->quirks.on(Quirk::kRuntimeClosesExportDescriptor)) ::close(number);
  shared_duplicate_.reset();
}

void OwnedHandle::forget() {
  handle_ = nullptr;
  shared_number_ = -1;
  static_cast<void>(shared_duplicate_.release());  // the number may be the child's own by now
}

}  // namespace hb::client::hip
