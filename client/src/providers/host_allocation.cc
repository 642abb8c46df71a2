// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include <sys/mman.h>

#include <atomic>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "fd_room.h"
#include "fork_guard.h"
#include "hipbroker/hipbroker.h"
#include "providers/chunk_sizes.h"
#include "providers/host_dmabuf.h"
#include "providers/host_object.h"
#include "providers/host_pages.h"
#include "wire/unique_fd.h"

namespace hb::client {
namespace {

class HostAllocation final : public Allocation {
 public:
  ~HostAllocation() override {
    if (base_ != nullptr) ::munmap(base_, reserved_);
  }

  Result<void> create(const AllocateRequest& request) {
    const std::uint64_t bytes = page_up(request.bytes);
    growth_ = request.chunk_bytes;
    sealed_ = request.sealed;
    dmabuf_ = request.dmabuf;
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
  [[nodiscard]] std::uint32_t handle_kind() const override {
    return dmabuf_ ? HB_KIND_DMABUF : HB_KIND_MEMFD;
  }
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
    std::optional<DmabufMaker> dmabufs;
    if (dmabuf_) {
      auto opened = DmabufMaker::open();
      if (!opened) return tl::unexpected(std::move(opened.error()));
      dmabufs.emplace(std::move(*opened));
      for (const std::uint64_t bytes : sizes)
        if (auto fits = dmabufs->check_size(bytes); !fits) return fits;
    }
    std::vector<UniqueFd> made;
    made.reserve(sizes.size());
    const std::size_t first = fds_.size();
    std::uint64_t at = start;
    for (const std::uint64_t bytes : sizes) {
      const std::size_t index = first + made.size();
      const std::string name = "chunk " + std::to_string(index);
      const auto number = static_cast<std::int64_t>(index);
      auto chunk = make_host_object(base_ + at, bytes, sealed_, name, number);
      std::uint64_t mapped = at - start;
      if (chunk && dmabufs) {
        mapped += bytes;
        chunk = dmabufs->make(*chunk, bytes, name, number);
      }
      if (!chunk) {
        hold_only(base_ + start, mapped);
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
  bool dmabuf_ = false;  // the descriptors are; the mapping here is of the memfd below
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
