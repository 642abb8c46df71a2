// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Blocks of host memory: a sealed memfd each.
#include "providers/block_range.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <utility>
#include <vector>

#include "fd_room.h"
#include "hipbroker/hipbroker.h"
#include "providers/host.h"
#include "providers/host_object.h"

namespace hb::client {
namespace {

constexpr int kReserved = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;

class HostBlocks final : public BlockRange {
 public:
  HostBlocks(char* base, std::uint64_t block_bytes, std::size_t count)
      : base_(base), block_bytes_(block_bytes), fds_(count) {}
  ~HostBlocks() override { ::munmap(base_, block_bytes_ * fds_.size()); }

  [[nodiscard]] char* base() const override { return base_; }
  [[nodiscard]] std::uint64_t block_bytes() const override { return block_bytes_; }
  [[nodiscard]] std::size_t block_count() const override { return fds_.size(); }

  [[nodiscard]] Result<void> check_room(std::uint64_t blocks, const std::string& doing) const override {
    const FdRoom room = fd_room();
    if (blocks <= room.free()) return {};
    return fail(no_fds(room, blocks, doing));
  }
  [[nodiscard]] Result<void> map_block(std::size_t index) override {
    auto made = make_host_object(at(index), block_bytes_, false, "block " + std::to_string(index),
                                 static_cast<std::int64_t>(index));
    if (made) {
      fds_[index] = std::move(*made);
      return {};
    }
    // It may have been mapped before something failed.
    static_cast<void>(reserve_again(index));
    return tl::unexpected(std::move(made.error()));
  }
  [[nodiscard]] bool unmap_block(std::size_t index) noexcept override {
    const bool ok = reserve_again(index);
    fds_[index].reset();
    return ok;
  }

  [[nodiscard]] BorrowedFd descriptor(std::size_t index) const override { return fds_[index]; }
  [[nodiscard]] Result<UniqueFd> export_block(std::size_t index) override {
    UniqueFd made(::fcntl(fds_[index].get(), F_DUPFD_CLOEXEC, 3));
    if (made) return made;
    return fail(duplicate_error(SysError::last("fcntl(F_DUPFD_CLOEXEC)"), "block " + std::to_string(index)));
  }
  [[nodiscard]] std::uint32_t handle_kind() const override { return HB_KIND_MEMFD; }
  [[nodiscard]] const DeviceId& device() const override { return none_; }
  [[nodiscard]] int ordinal() const override { return -1; }
  [[nodiscard]] std::vector<PeerGrant> peers() const override { return {}; }
  [[nodiscard]] bool host_granted() const override { return true; }
  [[nodiscard]] bool gives_back() const override { return true; }
  void forget() noexcept override {
    for (UniqueFd& fd : fds_) static_cast<void>(fd.release());
  }

 private:
  [[nodiscard]] char* at(std::size_t index) const { return base_ + index * block_bytes_; }
  // Over the mapping: a hole would be anybody's.
  [[nodiscard]] bool reserve_again(std::size_t index) const noexcept {
    return ::mmap(at(index), block_bytes_, PROT_NONE, kReserved | MAP_FIXED, -1, 0) != MAP_FAILED;
  }

  char* base_;
  std::uint64_t block_bytes_;
  std::vector<UniqueFd> fds_;
  DeviceId none_;
};

}  // namespace

Result<std::unique_ptr<BlockRange>> HostProvider::reserve(const AllocateRequest& request) {
  const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  const std::uint64_t block = request.chunk_bytes;
  if (block % page != 0)
    return fail(limit_error(HB_INVALID, "block_bytes", block, page,
                            "block_bytes is " + std::to_string(block) + " and no multiple of the page size " +
                                std::to_string(page)));
  const auto count = static_cast<std::size_t>((request.bytes + block - 1) / block);
  const std::uint64_t bytes = count * block;
  // A block begins at a multiple of its size, as far as that is a power of two: then an allocation can be
  // made to have its blocks for itself.
  const std::uint64_t alignment = block & -block;
  const std::string doing = "reserving " + std::to_string(bytes) + " bytes of addresses";
  void* const raw = ::mmap(nullptr, bytes + alignment, PROT_NONE, kReserved, -1, 0);
  if (raw == MAP_FAILED) return fail(system_error(SysError::last("mmap"), doing, HB_NO_MEMORY));
  auto* const begin = static_cast<char*>(raw);
  const std::uint64_t lead = -reinterpret_cast<std::uintptr_t>(raw) & (alignment - 1);
  if (lead != 0) ::munmap(begin, lead);
  if (lead != alignment) ::munmap(begin + lead + bytes, alignment - lead);
  return std::make_unique<HostBlocks>(begin + lead, block, count);
}

}  // namespace hb::client
