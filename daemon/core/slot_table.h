// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// A table whose entries never move and whose ids are never used twice: blocks of slots, a use count a slot.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "core/ids.h"

namespace hb::core {

inline constexpr std::uint32_t kNoSlot = UINT32_MAX;

template <class T, class IdType>
class SlotTable {
 public:
  SlotTable() = default;
  SlotTable(const SlotTable&) = delete;
  SlotTable& operator=(const SlotTable&) = delete;
  ~SlotTable() {
    for (std::uint32_t slot = 0; slot < slots_; ++slot)
      if (live(slot)) blocks_[slot / kBlock]->at(slot % kBlock)->~T();
  }

  template <class... Args>
  [[nodiscard]] std::uint32_t emplace(Args&&... args) {
    std::uint32_t slot = slots_;
    if (free_.empty()) {
      if (slots_ % kBlock == 0) add_block();
      ++slots_;
    } else {
      slot = free_.back();
      free_.pop_back();
    }
    Block& block = *blocks_[slot / kBlock];
    new (block.at(slot % kBlock)) T(std::forward<Args>(args)...);
    const std::uint32_t use = ++block.use[slot % kBlock];
    block.use[slot % kBlock] = use | kLive;
    highest_use_ = std::max(highest_use_, use);
    ++size_;
    touch(slot);
    return slot;
  }

  // As it was before a restart, under the id that it had. False: there is one, or the id is none.
  template <class... Args>
  [[nodiscard]] bool emplace_at(IdType id, Args&&... args) {
    const std::uint32_t slot = id.slot();
    if (slot >= kMostSlots || id.use() == 0 || id.use() >= kLive || live(slot)) return false;
    extend_to(slot + 1);
    if (!restoring_) std::erase(free_, slot);
    Block& block = *blocks_[slot / kBlock];
    new (block.at(slot % kBlock)) T(std::forward<Args>(args)...);
    block.use[slot % kBlock] = id.use() | kLive;
    highest_use_ = std::max(highest_use_, id.use());
    ++size_;
    touch(slot);
    return true;
  }
  // Around all emplace_at() of a restart, of a table that is empty. No id with a use up to `use` is given out
  // afterwards, and no slot below `slots` that is free.
  void begin_restore() { restoring_ = true; }
  void end_restore(std::uint32_t use, std::uint32_t slots = 0) {
    restoring_ = false;
    floor_ = std::min(use, kLive - 2);
    highest_use_ = std::max(highest_use_, floor_);
    for (std::uint32_t slot = 0; slot < blocks_.size() * kBlock; ++slot) {
      if (live(slot)) continue;
      std::uint32_t& own = blocks_[slot / kBlock]->use[slot % kBlock];
      own = std::max(own, floor_);
      if (slot >= slots && slot < slots_) free_.push_back(slot);
    }
    const std::size_t before = free_.size();
    extend_to(std::min(slots, kMostSlots));
    free_.resize(before);
  }
  [[nodiscard]] std::uint32_t highest_use() const { return highest_use_; }

  // From now on every slot is noted that is given out to be written to, or ends.
  void watch() { watching_ = true; }
  template <class Use>
  void take_touched(Use use) {
    for (const std::uint32_t slot : touched_) {
      blocks_[slot / kBlock]->touched[slot % kBlock] = false;
      use(slot);
    }
    touched_.clear();
  }

  void erase(std::uint32_t slot) {
    touch(slot);
    blocks_[slot / kBlock]->at(slot % kBlock)->~T();
    std::uint32_t& use = blocks_[slot / kBlock]->use[slot % kBlock];
    use &= ~kLive;
    --size_;
    // A slot whose count is used up is never used again: an old id must not find new data.
    if (use < kLive - 1) free_.push_back(slot);
  }

  [[nodiscard]] T* find(IdType id) { return holds(id) ? &at(id.slot()) : nullptr; }
  [[nodiscard]] const T* find(IdType id) const {
    return holds(id) ? blocks_[id.slot() / kBlock]->at(id.slot() % kBlock) : nullptr;
  }
  [[nodiscard]] T& at(std::uint32_t slot) {
    touch(slot);
    return *blocks_[slot / kBlock]->at(slot % kBlock);
  }
  // For what is no part of the record.
  [[nodiscard]] T& scratch(std::uint32_t slot) { return *blocks_[slot / kBlock]->at(slot % kBlock); }
  [[nodiscard]] const T& at(std::uint32_t slot) const { return *blocks_[slot / kBlock]->at(slot % kBlock); }
  [[nodiscard]] bool live(std::uint32_t slot) const {
    return slot < slots_ && (blocks_[slot / kBlock]->use[slot % kBlock] & kLive) != 0;
  }
  [[nodiscard]] IdType id_of(std::uint32_t slot) const {
    return IdType::of(slot, blocks_[slot / kBlock]->use[slot % kBlock] & ~kLive);
  }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] std::uint32_t slots() const { return slots_; }  // every live slot is below

 private:
  static constexpr std::uint32_t kBlock = 512;
  static constexpr std::uint32_t kLive = 0x8000'0000u;
  static constexpr std::uint32_t kMostSlots = 1u << 24;
  struct Block {
    std::array<std::uint32_t, kBlock> use{};
    std::array<bool, kBlock> touched{};
    alignas(T) std::array<std::byte, kBlock * sizeof(T)> storage;
    T* at(std::uint32_t index) {
      return std::launder(reinterpret_cast<T*>(storage.data() + index * sizeof(T)));
    }
  };
  [[nodiscard]] bool holds(IdType id) const {
    return id.slot() < slots_ && blocks_[id.slot() / kBlock]->use[id.slot() % kBlock] == (id.use() | kLive) &&
           (id.use() & kLive) == 0;
  }

  void add_block() {
    blocks_.push_back(std::make_unique<Block>());
    blocks_.back()->use.fill(floor_);
  }
  void extend_to(std::uint32_t slots) {
    while (slots_ < slots) {
      if (slots_ % kBlock == 0) add_block();
      if (!restoring_) free_.push_back(slots_);
      ++slots_;
    }
  }
  void touch(std::uint32_t slot) {
    if (!watching_) return;
    bool& touched = blocks_[slot / kBlock]->touched[slot % kBlock];
    if (touched) return;
    touched = true;
    touched_.push_back(slot);
  }

  std::vector<std::unique_ptr<Block>> blocks_;
  std::vector<std::uint32_t> free_;
  std::vector<std::uint32_t> touched_;
  std::uint32_t floor_ = 0;
  std::uint32_t highest_use_ = 0;
  bool watching_ = false;
  bool restoring_ = false;
  std::uint32_t slots_ = 0;
  std::size_t size_ = 0;
};

// A doubly linked list through a member of a table's entries.
struct Links {
  std::uint32_t previous = kNoSlot;
  std::uint32_t next = kNoSlot;
};

template <auto Member, class Table>
void link_front(Table& table, std::uint32_t& head, std::uint32_t slot) {
  Links& own = table.at(slot).*Member;
  own = {kNoSlot, head};
  if (head != kNoSlot) (table.at(head).*Member).previous = slot;
  head = slot;
}

template <auto Member, class Table>
void unlink(Table& table, std::uint32_t& head, std::uint32_t slot) {
  Links& own = table.at(slot).*Member;
  if (own.previous != kNoSlot)
    (table.at(own.previous).*Member).next = own.next;
  else
    head = own.next;
  if (own.next != kNoSlot) (table.at(own.next).*Member).previous = own.previous;
  own = {};
}

}  // namespace hb::core
