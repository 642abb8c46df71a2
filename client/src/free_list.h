// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Which parts of a range are free. It knows offsets only: no memory, no lock.
//
// Best fit: the smallest free range that holds what is asked for, of equal ones the lowest. An arena's
// allocations differ by orders of magnitude and it is asked for large ones until the end, so what is large
// stays whole; and the small gaps lie between allocations, in blocks that are mapped anyway.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "wire/expected.h"

namespace hb::client {

class FreeList {
 public:
  struct Range {
    std::uint64_t offset = 0;
    std::uint64_t bytes = 0;
    bool operator==(const Range&) const = default;
  };
  enum class Fault : std::uint8_t { kFree, kInside, kOutside };  // free already; not where it begins

  // Every offset and size is a multiple of `granule`, a power of two. Alignments count from `origin`, the
  // address of offset 0.
  FreeList(std::uint64_t bytes, std::uint64_t granule, std::uintptr_t origin = 0);

  // `bytes` is rounded up to the granule, `alignment` is a power of two. Logarithmic, but where only ranges
  // are left that the alignment may spoil: those are looked at one by one.
  [[nodiscard]] std::optional<Range> allocate(std::uint64_t bytes, std::uint64_t alignment);
  // Exactly this range, if all of it is free.
  [[nodiscard]] bool take(const Range& range);
  // What is free there now, with its neighbours.
  [[nodiscard]] tl::expected<Range, Fault> free(std::uint64_t offset);

  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }
  [[nodiscard]] std::uint64_t used() const noexcept { return used_; }
  [[nodiscard]] std::uint64_t largest() const { return by_size_.empty() ? 0 : by_size_.rbegin()->first; }
  [[nodiscard]] std::size_t ranges() const noexcept { return free_.size(); }

 private:
  using Free = std::map<std::uint64_t, std::uint64_t>;  // offset: bytes
  // Where in a free range an allocation would begin; none: it does not fit.
  [[nodiscard]] std::optional<std::uint64_t> place(const Range& free, std::uint64_t bytes,
                                                   std::uint64_t alignment) const;
  void add(const Range& range);
  void remove(Free::iterator at);
  void carve(Free::iterator from, const Range& range);

  std::uint64_t bytes_;
  std::uint64_t granule_;
  std::uintptr_t origin_;
  std::uint64_t used_ = 0;
  Free free_;
  std::set<std::pair<std::uint64_t, std::uint64_t>> by_size_;  // bytes, offset
  Free taken_;
};

}  // namespace hb::client
