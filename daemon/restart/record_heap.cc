// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "restart/record_heap.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "restart/checksum.h"
#include "restart/record_layout.h"

namespace hb::restart {

using namespace layout;  // NOLINT: this file is about it

namespace {

std::size_t class_for(std::size_t payload) {
  const std::size_t units = (kBlockHead + payload + kUnit - 1) / kUnit;
  return static_cast<std::size_t>(std::bit_width(std::bit_ceil(units)) - 1);
}

bool same(std::span<const std::byte> a, std::span<const std::byte> b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size()) == 0);
}

}  // namespace

static_assert(RecordHeap::kRecordBytes == kSlabBytes - kBlockHead);

std::span<const std::byte> RecordHeap::payload(BlockAt block) const {
  return {at(block) + kBlockHead, load<std::uint32_t>(at(block) + offsetof(Block, length))};
}

std::size_t RecordHeap::slab_of(BlockAt block) const {
  return (std::size_t{block} * kUnit - kHeadBytes) / kSlabBytes;
}

void RecordHeap::begin() {
  if (in_transaction_) rollback();
  in_transaction_ = true;
}

tl::expected<void, std::string> RecordHeap::put(const RecordKey& key, std::span<const std::byte> bytes) {
  if (!in_transaction_) return tl::unexpected(std::string("no transaction has begun"));
  if (bytes.size() > kRecordBytes) {
    return tl::unexpected("a record of " + std::to_string(bytes.size()) + " bytes, the limit is " +
                          std::to_string(kRecordBytes));
  }
  const auto before = pending_.find(key);
  if (before == pending_.end()) {
    const auto record = records_.find(key);
    if (record != records_.end() && same(payload(record->second), bytes)) return {};
  } else if (before->second.block && same(payload(*before->second.block), bytes)) {
    return {};
  }
  auto block = write(key, bytes);
  if (!block) return tl::unexpected(std::move(block.error()));
  // The one that this transaction wrote before goes: two of one number would leave it open which counts.
  Pending& change = pending_[key];
  if (change.block) free(*change.block);
  change.block = *block;
  return {};
}

void RecordHeap::drop(const RecordKey& key) {
  if (!in_transaction_) return;
  const auto before = pending_.find(key);
  if (before != pending_.end() && before->second.block) {
    free(*before->second.block);
    pending_.erase(before);
  }
  const auto record = records_.find(key);
  if (record == records_.end()) return;
  mark_dropped(record->second, with_check(committed_ + 1));
  pending_[key] = Pending{};
}

void RecordHeap::mark_dropped(BlockAt block, std::uint64_t word) {
  if (load<std::uint64_t>(at(block) + kDroppedAt) == word) return;
  step();
  store(at(block) + kDroppedAt, word);
}

void RecordHeap::commit() {
  if (!in_transaction_) return;
  if (!pending_.empty()) {
    step();
    store<std::uint64_t>(region_.bytes().data() + kCommittedAt, with_check(committed_ + 1));
    ++committed_;
    for (const auto& [key, change] : pending_) {
      const auto record = records_.find(key);
      if (record != records_.end()) {
        record_bytes_ -= payload(record->second).size();
        free(record->second);
        records_.erase(record);
      }
      if (change.block) {
        record_bytes_ += payload(*change.block).size();
        records_[key] = *change.block;
      }
    }
  }
  end_transaction();
}

void RecordHeap::rollback() {
  for (const auto& [key, change] : pending_) {
    if (change.block) free(*change.block);
    // The next transaction has the same number.
    const auto record = records_.find(key);
    if (record != records_.end()) mark_dropped(record->second, 0);
  }
  end_transaction();
}

void RecordHeap::end_transaction() {
  pending_.clear();
  in_transaction_ = false;
}

std::optional<std::span<const std::byte>> RecordHeap::find(const RecordKey& key) const {
  const auto record = records_.find(key);
  if (record == records_.end()) return std::nullopt;
  return payload(record->second);
}

void RecordHeap::for_each(const Visit& visit) const {
  std::vector<std::pair<RecordKey, BlockAt>> all(records_.begin(), records_.end());
  std::sort(all.begin(), all.end());
  for (const auto& [key, block] : all) visit(key, payload(block));
}

tl::expected<RecordHeap::BlockAt, std::string> RecordHeap::write(const RecordKey& key,
                                                                 std::span<const std::byte> bytes) {
  const auto allocated = allocate(bytes.size());
  if (!allocated) return allocated;
  Block block{};
  block.mark = kBlockMark | static_cast<std::uint32_t>(class_of_slab_[slab_of(*allocated)]);
  block.length = static_cast<std::uint32_t>(bytes.size());
  block.slot = key.slot;
  block.part = key.part;
  block.transaction = committed_ + 1;
  block.kind = key.kind;
  block.checksum = checksum(std::as_bytes(std::span(&block, 1)).first(kSummed), bytes);
  std::byte* to = at(*allocated);
  step();
  if (!bytes.empty()) std::memmove(to + kBlockHead, bytes.data(), bytes.size());
  step();
  std::memcpy(to + sizeof block.mark, reinterpret_cast<const std::byte*>(&block) + sizeof block.mark,
              kBlockHead - sizeof block.mark);
  step();
  store(to, block.mark);
  ++used_in_slab_[slab_of(*allocated)];
  return allocated;
}

void RecordHeap::free(BlockAt block) {
  step();
  store<std::uint32_t>(at(block), 0);
  const std::size_t slab = slab_of(block);
  --used_in_slab_[slab];
  free_[class_of_slab_[slab]].push_back(block);
}

tl::expected<RecordHeap::BlockAt, std::string> RecordHeap::allocate(std::size_t payload_bytes) {
  const std::size_t of_class = class_for(payload_bytes);
  std::vector<BlockAt>& free = free_[of_class];
  if (free.empty() && !take_slab(of_class)) {
    if (auto grown = grow(); !grown) return tl::unexpected(std::move(grown.error()));
    if (!take_slab(of_class)) return tl::unexpected(std::string("the memory of records is full"));
  }
  const BlockAt block = free.back();
  free.pop_back();
  return block;
}

// One that is not in use, else one in which no block is.
bool RecordHeap::take_slab(std::size_t of_class) {
  std::size_t empty = class_of_slab_.size();
  for (std::size_t slab = 0; slab < class_of_slab_.size(); ++slab) {
    if (class_of_slab_[slab] == kClasses) {
      tag_slab(slab, of_class);
      return true;
    }
    if (used_in_slab_[slab] == 0 && empty == class_of_slab_.size()) empty = slab;
  }
  if (empty == class_of_slab_.size()) return false;
  std::vector<BlockAt>& others = free_[class_of_slab_[empty]];
  others.erase(
      std::remove_if(others.begin(), others.end(), [&](BlockAt block) { return slab_of(block) == empty; }),
      others.end());
  tag_slab(empty, of_class);
  return true;
}

void RecordHeap::tag_slab(std::size_t slab, std::size_t of_class) {
  std::byte* head = region_.bytes().data();
  step();
  store<std::uint8_t>(head + kSlabsAt + slab, 0);
  step();
  // What lies where blocks of the new size begin is bytes of old records: it must not pass for a block.
  std::memset(head + slab_at(slab), 0, kSlabBytes);
  step();
  store<std::uint8_t>(head + kSlabsAt + slab, slab_tag(of_class));
  class_of_slab_[slab] = static_cast<std::uint8_t>(of_class);
  used_in_slab_[slab] = 0;
  const std::size_t units = block_bytes(of_class) / kUnit;
  for (std::size_t i = blocks_of(of_class); i-- > 0;) {
    free_[of_class].push_back(static_cast<BlockAt>(slab_at(slab) / kUnit + i * units));
  }
}

tl::expected<void, std::string> RecordHeap::grow() {
  constexpr std::size_t kStep = std::size_t{1} << 20;
  const std::size_t most = std::min(most_bytes_, kHeadBytes + kMostSlabs * kSlabBytes);
  const std::size_t now = region_.size();
  if (now + kSlabBytes > most) {
    return tl::unexpected("the memory of records has " + std::to_string(now) + " bytes, the limit is " +
                          std::to_string(most));
  }
  const std::size_t wanted = std::min(now + std::max(kStep, now / 4 / kSlabBytes * kSlabBytes), most);
  if (auto grown = region_.grow(wanted); !grown) return grown;
  step();
  store<std::uint64_t>(region_.bytes().data() + kSizeAt, with_check(region_.size()));
  class_of_slab_.resize(slabs_in(region_.size()), kClasses);
  used_in_slab_.resize(class_of_slab_.size(), 0);
  return {};
}

}  // namespace hb::restart
