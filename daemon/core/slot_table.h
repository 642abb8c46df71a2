// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// A table whose entries never move and whose ids are never used twice: blocks of slots, a use count a slot.
#pragma once

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
      if (live(slot)) at(slot).~T();
  }

  template <class... Args>
  [[nodiscard]] std::uint32_t emplace(Args&&... args) {
    std::uint32_t slot = slots_;
    if (free_.empty()) {
      if (slots_ % kBlock == 0) blocks_.push_back(std::make_unique<Block>());
      ++slots_;
    } else {
      slot = free_.back();
      free_.pop_back();
    }
    Block& block = *blocks_[slot / kBlock];
    new (block.at(slot % kBlock)) T(std::forward<Args>(args)...);
    block.use[slot % kBlock] = (block.use[slot % kBlock] + 1) | kLive;
    ++size_;
    return slot;
  }

  void erase(std::uint32_t slot) {
    at(slot).~T();
    std::uint32_t& use = blocks_[slot / kBlock]->use[slot % kBlock];
    use &= ~kLive;
    --size_;
    // A slot whose count is used up is never used again: an old id must not find new data.
    if (use < kLive - 1) free_.push_back(slot);
  }

  [[nodiscard]] T* find(IdType id) {
    return holds(id) ? blocks_[id.slot() / kBlock]->at(id.slot() % kBlock) : nullptr;
  }
  [[nodiscard]] const T* find(IdType id) const {
    return holds(id) ? blocks_[id.slot() / kBlock]->at(id.slot() % kBlock) : nullptr;
  }
  [[nodiscard]] T& at(std::uint32_t slot) { return *blocks_[slot / kBlock]->at(slot % kBlock); }
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
  struct Block {
    std::array<std::uint32_t, kBlock> use{};
    alignas(T) std::array<std::byte, kBlock * sizeof(T)> storage;
    T* at(std::uint32_t index) {
      return std::launder(reinterpret_cast<T*>(storage.data() + index * sizeof(T)));
    }
  };
  [[nodiscard]] bool holds(IdType id) const {
    return id.slot() < slots_ && blocks_[id.slot() / kBlock]->use[id.slot() % kBlock] == (id.use() | kLive) &&
           (id.use() & kLive) == 0;
  }

  std::vector<std::unique_ptr<Block>> blocks_;
  std::vector<std::uint32_t> free_;
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
