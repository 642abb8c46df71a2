// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// From a hash to slots of a table: linear hashing, grown one bucket at a time, so that no insert pays for
// the whole table. The caller compares the entries; equal hashes are a chain.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/slot_table.h"

namespace hb::core {

class SlotIndex {
 public:
  SlotIndex() {
    for (std::uint32_t bucket = 0; bucket < kFirstBuckets; ++bucket) buckets_.grow_to(bucket);
  }

  // The first slot of this hash for which matches(slot), or kNoSlot.
  template <class Matches>
  [[nodiscard]] std::uint32_t find(std::uint32_t hash, Matches matches) const {
    for (std::uint32_t slot = buckets_[bucket_of(hash)].head; slot != kNoSlot; slot = links_[slot].next)
      if (links_[slot].hash == hash && matches(slot)) return slot;
    return kNoSlot;
  }

  void insert(std::uint32_t hash, std::uint32_t slot) {
    links_.grow_to(slot);
    push(bucket_of(hash), hash, slot);
    if (++count_ > base_ + split_) split_one();
  }

  void erase(std::uint32_t hash, std::uint32_t slot) {
    std::uint32_t* from = &buckets_[bucket_of(hash)].head;
    while (*from != slot) from = &links_[*from].next;
    *from = links_[slot].next;
    --count_;
  }

  [[nodiscard]] std::size_t size() const { return count_; }

 private:
  static constexpr std::uint32_t kFirstBuckets = 16;
  struct Head {
    std::uint32_t head = kNoSlot;
  };
  struct Link {
    std::uint32_t hash = 0;
    std::uint32_t next = kNoSlot;
  };
  template <class T>
  class Blocks {
   public:
    void grow_to(std::uint32_t index) {
      while (blocks_.size() <= index / kBlock) blocks_.push_back(std::make_unique<T[]>(kBlock));
    }
    T& operator[](std::uint32_t index) { return blocks_[index / kBlock][index % kBlock]; }
    const T& operator[](std::uint32_t index) const { return blocks_[index / kBlock][index % kBlock]; }

   private:
    static constexpr std::uint32_t kBlock = 1024;
    std::vector<std::unique_ptr<T[]>> blocks_;
  };

  [[nodiscard]] std::uint32_t bucket_of(std::uint32_t hash) const {
    const std::uint32_t bucket = hash & (base_ - 1);
    return bucket < split_ ? hash & (2 * base_ - 1) : bucket;
  }
  void push(std::uint32_t bucket, std::uint32_t hash, std::uint32_t slot) {
    links_[slot] = {hash, buckets_[bucket].head};
    buckets_[bucket].head = slot;
  }
  void split_one() {
    const std::uint32_t old = split_;
    buckets_.grow_to(base_ + old);
    buckets_[base_ + old].head = kNoSlot;
    std::uint32_t slot = buckets_[old].head;
    buckets_[old].head = kNoSlot;
    if (++split_ == base_) {
      base_ *= 2;
      split_ = 0;
    }
    while (slot != kNoSlot) {
      const Link link = links_[slot];
      push(bucket_of(link.hash), link.hash, slot);
      slot = link.next;
    }
  }

  Blocks<Head> buckets_;
  Blocks<Link> links_;  // by slot
  std::uint32_t base_ = kFirstBuckets;
  std::uint32_t split_ = 0;
  std::uint32_t count_ = 0;
};

}  // namespace hb::core
