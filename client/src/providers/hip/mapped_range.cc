// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "providers/hip/mapped_range.h"

#include <fcntl.h>
#include <linux/kcmp.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <mutex>
#include <utility>

#include "fd_room.h"
#include "hipbroker/hipbroker.h"
#include "providers/hip/driver.h"

namespace hb::client::hip {
namespace {

std::atomic<std::uint64_t> g_teardown_failures{0};
std::atomic<bool> g_exiting{false};

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

void watch_for_exit() {
  // Handlers run in the reverse order of their registration: after the runtime was loaded, this one comes
  // before any of its own.
  static const bool armed = std::atexit([] { g_exiting = true; }) == 0;
  static_cast<void>(armed);
}

bool is_exiting() { return g_exiting.load(std::memory_order_relaxed); }

// ---- handle -------------------------------------------------------------------------------------

OwnedHandle::OwnedHandle(OwnedHandle&& other) noexcept
    : context_(std::move(other.context_)),
      handle_(std::exchange(other.handle_, nullptr)),
      shared_number_(std::exchange(other.shared_number_, -1)),
      shared_duplicate_(std::move(other.shared_duplicate_)),
      shared_file_(other.shared_file_) {}

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

// ---- range --------------------------------------------------------------------------------------

MappedRange::MappedRange(ContextPtr context, Access access)
    : context_(std::move(context)),
      access_(std::move(access)),
      process_(::getpid()),
      host_granted_(access_.host != HostAccess::kNone) {}

Result<std::unique_ptr<MappedRange>> MappedRange::reserve(ContextPtr context, const Access& access,
                                                          const Wish& wish) {
  watch_for_exit();
  std::unique_ptr<MappedRange> range(new MappedRange(std::move(context), access));
  const HipTable& hip = range->context_->hip();
  const std::string doing = "reserving " + std::to_string(wish.bytes) + " bytes of addresses";
  const std::size_t alignment = wish.alignment < kLargePage ? kLargePage : wish.alignment;
  const auto misaligned = [alignment](const void* at) {
    return (reinterpret_cast<std::uintptr_t>(at) & (alignment - 1)) != 0;
  };
  // First the plain size: most runtimes align well enough, and what is not reserved needs no page tables.
  for (const std::size_t spare : {std::size_t{0}, alignment}) {
    void* at = nullptr;
    const HipError code = hip.hipMemAddressReserve(&at, wish.bytes + spare, alignment, wish.address, 0);
    if (code != kSuccess) {
      Error error = driver_error(hip, "hipMemAddressReserve", code, doing, HB_NO_MEMORY);
      if (wish.address != nullptr && error.status == HB_NO_MEMORY) error.status = HB_ADDRESS;
      return fail(std::move(error));
    }
    const bool elsewhere = wish.address != nullptr && at != wish.address;
    if (elsewhere || (wish.address == nullptr && spare == 0 && misaligned(at))) {
      note_teardown(hip.hipMemAddressFree(at, wish.bytes + spare));
      if (elsewhere)
        return fail(HB_ADDRESS,
                    doing + ": the wished address is taken or impossible: the runtime gave another");
      continue;
    }
    range->reserved_ = at;
    range->reserved_size_ = wish.bytes + spare;
    const auto start = (reinterpret_cast<std::uintptr_t>(at) + alignment - 1) & ~(alignment - 1);
    range->base_ = wish.address != nullptr ? static_cast<char*>(at) : reinterpret_cast<char*>(start);
    range->usable_ = wish.bytes;
    return range;
  }
  return fail(HB_INTERNAL, doing + ": no aligned place in a larger one");
}

Result<void> MappedRange::add(OwnedHandle handle, std::size_t bytes, std::int64_t chunk) {
  const std::string doing = "chunk " + std::to_string(chunk);
  const auto failed = [chunk](Error error) {
    error.chunk = chunk;
    return fail(std::move(error));
  };
  if (bytes > usable_ - mapped_)
    return failed(limit_error(HB_RANGE, "bytes", mapped_ + bytes, usable_,
                              doing + " of " + std::to_string(bytes) + " bytes does not fit behind the " +
                                  std::to_string(mapped_) + " mapped of " + std::to_string(usable_)));
  char* const at = base_ + mapped_;
  const MemHandle raw = handle.get();
  chunks_.push_back({std::move(handle), at, bytes, false});
  // Never believed alone: before 7.14 it answers success for what fails. The grant tells.
  const HipError code = context_->hip().hipMemMap(at, bytes, 0, raw, 0);
  if (code != kSuccess) return failed(driver_error(context_->hip(), "hipMemMap", code, doing));
  chunks_.back().mapped = true;
  mapped_ += bytes;
  auto granted = grant(*context_, access_, base_, at, bytes, doing, host_granted_);
  if (!granted) return failed(std::move(granted.error()));
  return {};
}

bool MappedRange::is_here() const { return ::getpid() == process_; }

void MappedRange::unmap_all() {
  // Each by itself and by its own size; one call for many leaks use counts in old runtimes. Not twice when
  // it fails: an unknown address crashes them.
  for (Chunk& chunk : chunks_)
    if (std::exchange(chunk.mapped, false)) note_teardown(context_->hip().hipMemUnmap(chunk.at, chunk.bytes));
}

MappedRange::~MappedRange() {
  if (reserved_ == nullptr) return;  // never came to be; perhaps inside a DriverScope
  if (!is_here() || is_exiting()) {
    for (Chunk& chunk : chunks_) chunk.handle.forget();
    return;
  }
  const bool waits = context_->quirks.on(Quirk::kUnmapSynchronises);
  if (waits && !chunks_.empty()) {
    const DriverScope scope(context_->hip(), DriverScope::kAnyDevice, Lock::kNo);
    unmap_all();
  }
  const DriverScope scope(context_->hip(), DriverScope::kAnyDevice);
  unmap_all();
  note_teardown(context_->hip().hipMemAddressFree(reserved_, reserved_size_));
  for (Chunk& chunk : chunks_) chunk.handle.release();
}

}  // namespace hb::client::hip
