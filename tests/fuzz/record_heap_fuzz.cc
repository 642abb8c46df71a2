// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Any memory opened as a heap of records. The first byte chooses: 0, the rest is the memory as it is; else
// the rest is patches (u16 where, u8 how many, bytes) of a sound heap, and where the byte is even the sums
// are put right again, so that what lies behind them is reached. What opens can be read, changed and opened
// again.
#include <algorithm>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "require.h"
#include "restart/checksum.h"
#include "restart/record_heap.h"
#include "restart/record_layout.h"

namespace {

using hb::os::MemoryRegion;
using hb::restart::RecordHeap;
namespace layout = hb::restart::layout;
using Bytes = std::vector<std::byte>;

constexpr std::size_t kBytes = layout::kHeadBytes + 3 * layout::kSlabBytes;

MemoryRegion region_of(const Bytes& bytes) {
  auto region = MemoryRegion::make("fuzz", std::max(bytes.size(), std::size_t{1}));
  HB_REQUIRE(region.has_value());
  std::copy(bytes.begin(), bytes.end(), region->bytes().begin());
  return std::move(*region);
}

Bytes sound_heap() {
  auto opened = RecordHeap::open(region_of(Bytes(kBytes)), kBytes);
  HB_REQUIRE(opened.has_value());
  RecordHeap& heap = opened->heap;
  for (std::uint32_t i = 0; i < 12; ++i) {
    heap.begin();
    const Bytes record(i * 37, std::byte(i));
    HB_REQUIRE(heap.put({1, i, 0}, record).has_value());
    if (i % 3 == 0) heap.drop({1, i / 2, 0});
    heap.commit();
  }
  return {heap.memory().begin(), heap.memory().end()};
}

// The tenth part of the memory is where the records are: a patch goes to one of these places.
std::size_t place_of(std::size_t number) {
  if (number < 512) return number;                           // the head
  if (number < 528) return layout::kSlabsAt + number - 512;  // tags of slabs
  return layout::kHeadBytes + (number - 528) % (kBytes - layout::kHeadBytes);
}

void patch(Bytes& memory, const unsigned char* data, std::size_t size) {
  while (size >= 3) {
    const std::size_t at = place_of(data[0] | data[1] << 8);
    const std::size_t count = std::min<std::size_t>({data[2] % 64u, size - 3, memory.size() - at});
    std::memcpy(memory.data() + at, data + 3, count);
    data += 3 + count;
    size -= 3 + count;
  }
}

void put_sums_right(Bytes& memory) {
  auto head = layout::load<layout::Head>(memory.data());
  head.checksum =
      hb::restart::checksum(std::as_bytes(std::span(&head, 1)).first(offsetof(layout::Head, checksum)));
  std::memcpy(memory.data(), &head, sizeof head);
  for (const std::size_t at : {layout::kSizeAt, layout::kCommittedAt}) {
    const std::uint64_t word = hb::restart::with_check(layout::load<std::uint64_t>(memory.data() + at));
    std::memcpy(memory.data() + at, &word, sizeof word);
  }
  for (std::size_t at = layout::kHeadBytes; at + layout::kUnit <= memory.size(); at += layout::kUnit) {
    auto block = layout::load<layout::Block>(memory.data() + at);
    if (block.mark == 0 || block.length > memory.size() - at - layout::kBlockHead) continue;
    const std::span<const std::byte> all(memory);
    block.checksum = hb::restart::checksum(all.subspan(at, layout::kSummed),
                                           all.subspan(at + layout::kBlockHead, block.length));
    std::memcpy(memory.data() + at, &block, sizeof block);
  }
}

using Records = std::map<hb::restart::RecordKey, Bytes>;

Records records_of(const RecordHeap& heap) {
  Records out;
  heap.for_each([&](const hb::restart::RecordKey& key, std::span<const std::byte> bytes) {
    out[key] = Bytes(bytes.begin(), bytes.end());
  });
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  if (size == 0) return 0;
  Bytes memory;
  if (data[0] == 0) {
    memory.resize(std::max(size - 1, RecordHeap::kLeastBytes));
    std::memcpy(memory.data(), data + 1, size - 1);
  } else {
    static const Bytes kSound = sound_heap();
    memory = kSound;
    patch(memory, data + 1, size - 1);
    if (data[0] % 2 == 0) put_sums_right(memory);
  }
  auto opened = RecordHeap::open(region_of(memory), kBytes);
  if (!opened) {
    HB_REQUIRE(!opened.error().empty());
    return 0;
  }
  RecordHeap& heap = opened->heap;
  Records records = records_of(heap);
  HB_REQUIRE(records.size() == opened->report.records);
  heap.begin();
  const Bytes added(100, std::byte{42});
  if (heap.put({9, 1, 1}, added)) records[{9, 1, 1}] = added;
  if (!records.empty()) {
    const auto first = records.begin()->first;
    heap.drop(first);
    records.erase(first);
  }
  heap.commit();
  HB_REQUIRE(records_of(heap) == records);
  auto again = RecordHeap::open(region_of({heap.memory().begin(), heap.memory().end()}), kBytes);
  HB_REQUIRE(again.has_value());
  HB_REQUIRE(again->report.corrupt == 0 && again->report.uncommitted == 0);
  HB_REQUIRE(records_of(again->heap) == records);
  return 0;
}
