// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "free_list.h"

#include <iterator>

namespace hb::client {

FreeList::FreeList(std::uint64_t bytes, std::uint64_t granule, std::uintptr_t origin)
    : bytes_(bytes & ~(granule - 1)), granule_(granule), origin_(origin) {
  if (bytes_ != 0) add({0, bytes_});
}

void FreeList::add(const Range& range) {
  free_.emplace(range.offset, range.bytes);
  by_size_.emplace(range.bytes, range.offset);
}

void FreeList::remove(Free::iterator at) {
  by_size_.erase({at->second, at->first});
  free_.erase(at);
}

void FreeList::carve(Free::iterator from, const Range& range) {
  const Range whole{from->first, from->second};
  const std::uint64_t behind = range.offset + range.bytes;
  remove(from);
  if (range.offset > whole.offset) add({whole.offset, range.offset - whole.offset});
  if (behind < whole.offset + whole.bytes) add({behind, whole.offset + whole.bytes - behind});
  taken_.emplace(range.offset, range.bytes);
  used_ += range.bytes;
}

std::optional<std::uint64_t> FreeList::place(const Range& free, std::uint64_t bytes,
                                             std::uint64_t alignment) const {
  const std::uint64_t off_by = (origin_ + free.offset) & (alignment - 1);
  const std::uint64_t skip = off_by == 0 ? 0 : alignment - off_by;
  if (skip > free.bytes || free.bytes - skip < bytes) return std::nullopt;
  return free.offset + skip;
}

std::optional<FreeList::Range> FreeList::allocate(std::uint64_t bytes, std::uint64_t alignment) {
  if (bytes == 0 || bytes > bytes_) return std::nullopt;
  const std::uint64_t size = (bytes + granule_ - 1) & ~(granule_ - 1);
  if (alignment < granule_) alignment = granule_;
  const auto try_at = [&](auto candidate) -> std::optional<Range> {
    const auto start = place({candidate->second, candidate->first}, size, alignment);
    if (!start) return std::nullopt;
    const Range out{*start, size};
    carve(free_.find(candidate->second), out);
    return out;
  };
  const auto tightest = by_size_.lower_bound({size, 0});
  if (tightest == by_size_.end()) return std::nullopt;
  if (const auto out = try_at(tightest)) return out;
  // From this size on no alignment can spoil it.
  const std::uint64_t spare = alignment - granule_;
  const auto sure = spare > UINT64_MAX - size ? by_size_.end() : by_size_.lower_bound({size + spare, 0});
  if (sure != by_size_.end())
    if (const auto out = try_at(sure)) return out;
  for (auto at = std::next(tightest); at != sure; ++at)
    if (const auto out = try_at(at)) return out;
  return std::nullopt;
}

bool FreeList::take(const Range& range) {
  auto after = free_.upper_bound(range.offset);
  if (after == free_.begin() || range.bytes == 0) return false;
  const auto holds = std::prev(after);
  const std::uint64_t lead = range.offset - holds->first;
  if (lead >= holds->second || holds->second - lead < range.bytes) return false;
  carve(holds, range);
  return true;
}

tl::expected<FreeList::Range, FreeList::Fault> FreeList::free(std::uint64_t offset) {
  if (offset >= bytes_) return tl::unexpected(Fault::kOutside);
  const auto found = taken_.find(offset);
  if (found == taken_.end()) {
    const auto after = free_.upper_bound(offset);
    const bool is_free =
        after != free_.begin() && offset - std::prev(after)->first < std::prev(after)->second;
    return tl::unexpected(is_free ? Fault::kFree : Fault::kInside);
  }
  Range merged{found->first, found->second};
  used_ -= merged.bytes;
  taken_.erase(found);
  const auto next = free_.lower_bound(merged.offset);
  if (next != free_.begin()) {
    const auto before = std::prev(next);
    if (before->first + before->second == merged.offset) {
      merged = {before->first, before->second + merged.bytes};
      remove(before);
    }
  }
  if (next != free_.end() && merged.offset + merged.bytes == next->first) {
    merged.bytes += next->second;
    remove(next);
  }
  add(merged);
  return merged;
}

}  // namespace hb::client
