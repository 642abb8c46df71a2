// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include <algorithm>
#include <cstring>
#include <utility>

#include "restart/checksum.h"
#include "restart/record_heap.h"
#include "restart/record_layout.h"

namespace hb::restart {

using namespace layout;  // NOLINT: this file is about it

namespace {

bool all_zero(std::span<const std::byte> bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](std::byte b) { return b == std::byte{0}; });
}

std::uint64_t checksum_of(const Head& head) {
  return checksum(std::as_bytes(std::span(&head, 1)).first(offsetof(Head, checksum)));
}

}  // namespace

struct RecordHeap::Found {
  RecordKey key;
  std::uint64_t transaction = 0;
  BlockAt block = 0;
  bool dropped = false;
};

tl::expected<RecordHeap::Opened, std::string> RecordHeap::make(os::MemoryRegion region,
                                                               std::size_t most_bytes) {
  if (region.size() < kLeastBytes) {
    if (auto grown = region.grow(kLeastBytes); !grown) return tl::unexpected(std::move(grown.error()));
  }
  // The head last: while it is not there, what follows it is not read.
  std::span<std::byte> bytes = region.bytes();
  std::memset(bytes.data(), 0, kHeadBytes);
  return open(std::move(region), most_bytes);
}

tl::expected<RecordHeap::Opened, std::string> RecordHeap::open(os::MemoryRegion region,
                                                               std::size_t most_bytes) {
  if (region.size() < kLeastBytes) {
    return tl::unexpected("the memory of records has " + std::to_string(region.size()) + " bytes, at least " +
                          std::to_string(kLeastBytes) + " are needed");
  }
  Opened opened;
  RecordHeap& heap = opened.heap;
  heap.region_ = std::move(region);
  heap.most_bytes_ = most_bytes;
  opened.report.made = all_zero(heap.region_.bytes().first(kSlabsAt));
  if (opened.report.made) {
    heap.write_head();
    opened.report.format = kFormat;
  } else if (auto read = heap.read_head(opened.report); !read) {
    return tl::unexpected(std::move(read.error()));
  }
  heap.scan(opened.report);
  return opened;
}

void RecordHeap::write_head() {
  std::byte* at = region_.bytes().data();
  std::memset(at + kSlabsAt, 0, kHeadBytes - kSlabsAt);
  store<std::uint64_t>(at + kSizeAt, with_check(region_.size()));
  store<std::uint64_t>(at + kCommittedAt, with_check(0));
  Head head{};
  std::copy(std::begin(kMagic), std::end(kMagic), head.magic);
  head.format = kFormat;
  head.oldest_reader = kOldestFormat;
  head.checksum = checksum_of(head);
  constexpr std::size_t kMagicBytes = sizeof head.magic;
  std::memcpy(at + kMagicBytes, reinterpret_cast<const std::byte*>(&head) + kMagicBytes,
              sizeof head - kMagicBytes);
  store(at, load<std::uint64_t>(reinterpret_cast<const std::byte*>(&head)));
}

tl::expected<void, std::string> RecordHeap::read_head(Report& report) const {
  const std::byte* at = region_.bytes().data();
  const Head head = load<Head>(at);
  if (std::memcmp(head.magic, kMagic, sizeof kMagic) != 0) {
    return tl::unexpected(
        std::string("the memory of records is something else: it does not begin with "
                    "HBRECORD"));
  }
  if (head.checksum != checksum_of(head)) {
    return tl::unexpected(std::string("the head of the memory of records is broken (checksum)"));
  }
  if (head.oldest_reader > kFormat || head.format < kOldestFormat) {
    return tl::unexpected("the memory of records has format " + std::to_string(head.format) +
                          ", which formats from " + std::to_string(head.oldest_reader) +
                          " on can read; this daemon reads " + std::to_string(kOldestFormat) + " to " +
                          std::to_string(kFormat));
  }
  // One at the end of the numbers could not be followed by another; nobody comes near.
  if (without_check(load<std::uint64_t>(at + kCommittedAt)).value_or(UINT64_MAX) > kMostTransactions) {
    return tl::unexpected(
        std::string("the head of the memory of records is broken (number of the last transaction)"));
  }
  const auto size = without_check(load<std::uint64_t>(at + kSizeAt));
  if (!size) return tl::unexpected(std::string("the head of the memory of records is broken (size)"));
  report.format = head.format;
  report.truncated = *size > region_.size();
  return {};
}

void RecordHeap::scan(Report& report) {
  std::byte* head = region_.bytes().data();
  committed_ = without_check(load<std::uint64_t>(head + kCommittedAt)).value_or(0);
  const std::size_t slabs = slabs_in(region_.size());
  class_of_slab_.assign(slabs, kClasses);
  used_in_slab_.assign(slabs, 0);
  // Growing may have ended between the memory and this.
  store<std::uint64_t>(head + kSizeAt, with_check(region_.size()));
  std::vector<Found> found;
  for (std::size_t slab = 0; slab < slabs; ++slab) {
    const auto tag = load<std::uint8_t>(head + kSlabsAt + slab);
    if (tag == 0) continue;
    const std::size_t of_class = std::size_t{tag & 0xfu} - 1;
    if (of_class >= kClasses || slab_tag(of_class) != tag) {
      // Which blocks were in it is not known any more.
      ++report.corrupt;
      store<std::uint8_t>(head + kSlabsAt + slab, 0);
      continue;
    }
    class_of_slab_[slab] = static_cast<std::uint8_t>(of_class);
    scan_slab(slab, found, report);
  }
  settle(found, report);
}

void RecordHeap::scan_slab(std::size_t slab, std::vector<Found>& found, Report& report) {
  const std::size_t of_class = class_of_slab_[slab];
  const std::size_t units = block_bytes(of_class) / kUnit;
  for (std::size_t i = blocks_of(of_class); i-- > 0;) {
    const auto number = static_cast<BlockAt>(slab_at(slab) / kUnit + i * units);
    const Block block = load<Block>(at(number));
    if (block.mark == 0) {
      free_[of_class].push_back(number);
      continue;
    }
    ++used_in_slab_[slab];
    const auto dropped_by =
        block.dropped_by == 0 ? std::optional<std::uint64_t>(0) : without_check(block.dropped_by);
    const bool sound =
        block.mark == (kBlockMark | static_cast<std::uint32_t>(of_class)) &&
        block.length <= block_bytes(of_class) - kBlockHead && block.kind <= UINT8_MAX && dropped_by &&
        block.checksum == checksum({at(number), kSummed}, {at(number) + kBlockHead, block.length});
    if (!sound) {
      ++report.corrupt;
      free(number);
    } else if (block.transaction > committed_) {
      ++report.uncommitted;
      free(number);
    } else {
      const bool is_dropped = *dropped_by != 0 && *dropped_by <= committed_;
      // By a transaction that did not come to its end; the next has its number.
      if (!is_dropped) mark_dropped(number, 0);
      found.push_back({{static_cast<std::uint8_t>(block.kind), block.slot, block.part},
                       block.transaction,
                       number,
                       is_dropped});
    }
  }
}

void RecordHeap::settle(std::vector<Found>& found, Report& report) {
  // The newest of a key first. Of those behind it the oldest is freed first: this too may end half way, and
  // the newest must then still be the newest of what is left.
  std::sort(found.begin(), found.end(), [](const Found& a, const Found& b) {
    return a.key != b.key ? a.key < b.key : a.transaction > b.transaction;
  });
  for (std::size_t first = 0; first < found.size();) {
    std::size_t end = first + 1;
    while (end < found.size() && found[end].key == found[first].key) ++end;
    for (std::size_t i = end; i-- > first + 1;) free(found[i].block);
    if (found[first].dropped) {
      free(found[first].block);
    } else {
      records_.emplace(found[first].key, found[first].block);
      record_bytes_ += payload(found[first].block).size();
    }
    first = end;
  }
  report.records = records_.size();
  report.bytes = record_bytes_;
}

}  // namespace hb::restart
