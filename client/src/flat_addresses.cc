// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "flat_addresses.h"

#include <sys/mman.h>

#include <string>
#include <utility>

namespace hb::client {
namespace {

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

constexpr int kHeld = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;

}  // namespace

Result<FlatAddresses> FlatAddresses::find(void* base, std::uint64_t stride, std::uint32_t count,
                                          std::uint64_t alignment) {
  constexpr std::uint64_t kMost = std::uint64_t{1} << 47;  // of a process
  if (stride > kMost / count || alignment > kMost)
    return fail(limit_error(HB_RANGE, "stride", stride, kMost / count,
                            std::to_string(count) + " ranks of " + std::to_string(stride) +
                                " bytes of addresses are more than a process has"));
  const std::uint64_t bytes = stride * count;
  if (base != nullptr) {
    void* const got = ::mmap(base, bytes, PROT_NONE, kHeld | MAP_FIXED_NOREPLACE, -1, 0);
    if (got == base) return FlatAddresses(static_cast<char*>(got), stride, count);
    const SysError cause = SysError::last("mmap");
    // A kernel before 4.17 takes the flag for a hint.
    if (got != MAP_FAILED) ::munmap(got, bytes);
    if (got != MAP_FAILED) return fail(HB_ADDRESS, "the wished base is taken");
    return fail(system_error(cause, "the wished base cannot be used", HB_ADDRESS));
  }
  void* const got = ::mmap(nullptr, bytes + alignment, PROT_NONE, kHeld, -1, 0);
  if (got == MAP_FAILED)
    return fail(system_error(
        SysError::last("mmap"),
        "reserving " + std::to_string(bytes) + " bytes of addresses for " + std::to_string(count) + " ranks",
        HB_NO_MEMORY));
  const auto at = reinterpret_cast<std::uintptr_t>(got);
  const std::uintptr_t first = (at + alignment - 1) / alignment * alignment;
  if (first != at) ::munmap(got, first - at);
  if (first != at + alignment) ::munmap(reinterpret_cast<void*>(first + bytes), at + alignment - first);
  return FlatAddresses(reinterpret_cast<char*>(first), stride, count);
}

FlatAddresses::FlatAddresses(FlatAddresses&& other) noexcept
    : base_(other.base_),
      stride_(other.stride_),
      count_(other.count_),
      taken_(std::exchange(other.taken_, other.count_)) {}

FlatAddresses::~FlatAddresses() {
  if (taken_ < count_) ::munmap(base_ + taken_ * stride_, (count_ - taken_) * stride_);
}

void* FlatAddresses::take(std::uint32_t slot) {
  char* const at = base_ + slot * stride_;
  ::munmap(at, stride_);
  taken_ = slot + 1;
  return at;
}

}  // namespace hb::client
