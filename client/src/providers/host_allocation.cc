// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <mutex>
#include <utility>
#include <vector>

#include "fd_room.h"
#include "fork_guard.h"
#include "hipbroker/hipbroker.h"
#include "providers/chunk_sizes.h"
#include "providers/host_pages.h"
#include "wire/unique_fd.h"

namespace hb::client {
namespace {

constexpr unsigned kMfdNoexecSeal = 0x0008;  // since Linux 6.3; Debian 12's headers do not have it

Result<UniqueFd> failed(const char* operation, std::size_t index) {
  const SysError cause = SysError::last(operation);
  const hb_status status = cause.code == EMFILE || cause.code == ENFILE   ? HB_NO_FDS
                           : cause.code == ENOMEM || cause.code == ENOSPC ? HB_NO_MEMORY
                                                                          : HB_SYSTEM;
  Error error = system_error(cause, "chunk " + std::to_string(index), status);
  error.chunk = static_cast<std::int64_t>(index);
  return fail(std::move(error));
}

// A memfd of this size, mapped at `at`.
Result<UniqueFd> make_chunk(char* at, std::uint64_t bytes, bool sealed, std::size_t index) {
  constexpr unsigned kFlags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
  UniqueFd fd(::memfd_create("hipbroker", kFlags | kMfdNoexecSeal));
  if (!fd && errno == EINVAL) fd = UniqueFd(::memfd_create("hipbroker", kFlags));
  if (fd && fd.get() < 3) fd = fd.duplicate();
  if (!fd) return failed("memfd_create", index);
  if (::ftruncate(fd.get(), static_cast<off_t>(bytes)) != 0) return failed("ftruncate", index);
  // Mode 0444 is what makes a reader's read-only descriptor hold: memfds are made 0777, and anyone
  // could open theirs again for writing through /proc.
  if (::fchmod(fd.get(), 0444) != 0) return failed("fchmod", index);
  if (::mmap(at, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd.get(), 0) == MAP_FAILED)
    return fail(map_error(SysError::last("mmap"), "chunk " + std::to_string(index),
                          static_cast<std::int64_t>(index)));
  // After the mapping: F_SEAL_FUTURE_WRITE lets exactly the mappings that exist go on writing.
  const int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL | (sealed ? F_SEAL_FUTURE_WRITE : 0);
  if (::fcntl(fd.get(), F_ADD_SEALS, seals) == 0) return fd;
  auto refused = failed("fcntl(F_ADD_SEALS)", index);
  hold_only(at, bytes);
  return refused;
}

class HostAllocation final : public Allocation {
 public:
  ~HostAllocation() override {
    if (base_ != nullptr) ::munmap(base_, reserved_);
  }

  Result<void> create(const AllocateRequest& request) {
    const std::uint64_t bytes = page_up(request.bytes);
    growth_ = request.chunk_bytes;
    sealed_ = request.sealed;
    const std::uint64_t chunk_bytes = growth_ == 0 ? bytes : growth_;
    const std::uint64_t count = (bytes + chunk_bytes - 1) / chunk_bytes;
    const std::string doing =
        "allocating " + std::to_string(bytes) + " bytes in chunks of " + std::to_string(chunk_bytes);
    // Before anything is made, the list of sizes included.
    if (auto room = check_room(count, doing); !room) return room;
    std::vector<std::uint64_t> sizes(count, chunk_bytes);
    sizes.back() = bytes - (count - 1) * chunk_bytes;
    reserved_ = bytes;
    if (request.reserve_bytes > bytes) {
      const std::uint64_t more = request.reserve_bytes - bytes;
      reserved_ += growth_ == 0 ? page_up(more) : (more + growth_ - 1) / growth_ * growth_;
    }
    base_ = hold_addresses(reserved_);
    if (base_ == nullptr)
      return fail(system_error(SysError::last("mmap"),
                               "reserving " + std::to_string(reserved_) + " bytes of addresses",
                               HB_NO_MEMORY));
    if (auto added = add_chunks(0, sizes); !added) return added;
    sizes_.add(sizes);
    return {};
  }

  [[nodiscard]] void* ptr() const override { return base_; }
  [[nodiscard]] std::uint64_t bytes() const override { return sizes_.sum(); }
  [[nodiscard]] std::uint64_t chunk_bytes() const override { return sizes_.step(); }
  [[nodiscard]] std::size_t chunk_count() const override { return sizes_.count(); }
  [[nodiscard]] ChunkRef chunk(std::size_t index) const override {
    const std::uint64_t bytes = sizes_.of(index);
    const std::lock_guard guard(process_lock());
    const BorrowedFd fd = index < fds_.size() ? BorrowedFd(fds_[index]) : BorrowedFd();
    return {fd, 0, bytes, bytes, index};
  }
  [[nodiscard]] std::uint32_t handle_kind() const override { return HB_KIND_MEMFD; }
  [[nodiscard]] bool host_granted() const override { return !asleep(); }
  void forget_descriptors() noexcept override {
    for (UniqueFd& fd : fds_) static_cast<void>(fd.release());
  }

  [[nodiscard]] std::uint64_t reserved_bytes() const override { return reserved_; }
  [[nodiscard]] Result<void> grow(std::uint64_t bytes) override {
    if (auto able = check_growth(bytes, growth_ == 0 ? page_bytes() : growth_); !able) return able;
    const std::uint64_t count = growth_ == 0 ? 1 : (bytes + growth_ - 1) / growth_;
    if (auto room = check_room(count, "adding " + std::to_string(bytes) + " bytes"); !room) return room;
    const auto more = ChunkSizes::of_growth(bytes, growth_, page_bytes());
    if (auto added = add_chunks(sizes_.sum(), more); !added) return added;
    sizes_.add(more);
    return {};
  }
  void sleep() noexcept override {
    asleep_.store(true, std::memory_order_relaxed);
    hold_only(base_, reserved_);
    std::vector<UniqueFd> gone;
    const std::lock_guard guard(process_lock());
    gone.swap(fds_);
  }
  [[nodiscard]] Result<void> wake() override {
    if (!asleep()) return {};
    const auto sizes = sizes_.all();
    if (auto room = check_room(sizes.size(), "waking " + std::to_string(sizes_.sum()) + " bytes"); !room)
      return room;
    if (auto added = add_chunks(0, sizes); !added) return added;
    asleep_.store(false, std::memory_order_relaxed);
    return {};
  }
  [[nodiscard]] bool asleep() const override { return asleep_.load(std::memory_order_relaxed); }

 private:
  static Result<void> check_room(std::uint64_t count, const std::string& doing) {
    const FdRoom room = fd_room();
    if (count <= room.free()) return {};
    return fail(no_fds(room, count, doing));
  }

  // All of them or none, from `start` bytes on.
  Result<void> add_chunks(std::uint64_t start, const std::vector<std::uint64_t>& sizes) {
    std::vector<UniqueFd> made;
    made.reserve(sizes.size());
    const std::size_t first = fds_.size();
    std::uint64_t at = start;
    for (const std::uint64_t bytes : sizes) {
      auto chunk = make_chunk(base_ + at, bytes, sealed_, first + made.size());
      if (!chunk) {
        hold_only(base_ + start, at - start);
        return tl::unexpected(std::move(chunk.error()));
      }
      made.push_back(std::move(*chunk));
      at += bytes;
    }
    const std::lock_guard guard(process_lock());
    for (UniqueFd& fd : made) fds_.push_back(std::move(fd));
    return {};
  }

  char* base_ = nullptr;
  std::uint64_t reserved_ = 0;
  std::uint64_t growth_ = 0;  // of a chunk that is added; 0 = whatever is asked for
  bool sealed_ = false;
  std::atomic<bool> asleep_{false};
  ChunkSizes sizes_;
  std::vector<UniqueFd> fds_;  // under process_lock()
};

}  // namespace

Result<std::unique_ptr<Allocation>> allocate_host(const AllocateRequest& request) {
  auto allocation = std::make_unique<HostAllocation>();
  if (auto created = allocation->create(request); !created) return tl::unexpected(std::move(created.error()));
  return allocation;
}

}  // namespace hb::client
