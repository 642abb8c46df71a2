// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// The pieces of memory the broker holds, each by one descriptor of the edge, counted by the chunks that use
// it.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "core/keyed_hash.h"
#include "core/slot_index.h"
#include "core/slot_table.h"
#include "core/types.h"

namespace hb::core {

struct Allocation {
  HandleId handle;
  std::uint64_t size = 0;
  std::uint64_t references = 0;  // chunks of exports and stagings
  // What makes it the same as another one: (device, inode) where the kernel vouches for them, else what its
  // session declared. Nothing when neither: then it is never merged.
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  SessionId declared_by;
  std::uint32_t hash = 0;
  HandleKind kind = HandleKind::kMemfd;
  bool mergeable = false;
  bool writable = false;
  bool sealed = false;
  bool size_known = false;
  std::uint32_t payer = kNoSlot;   // an account that exports it, by so many chunks;
  std::uint32_t payer_chunks = 0;  // further ones: AllocationTable::payers_
  std::uint16_t page_index = 0;    // scratch of the page under construction,
  std::uint64_t page_stamp = 0;    // valid when this is its number
};

class AllocationTable {
 public:
  explicit AllocationTable(const Secret& secret) : hash_(secret) {}

  struct Taken {
    AllocationId id;
    bool duplicate = false;  // held already: the new handle is surplus
  };
  // As it was before a restart, without references. False: the id is none, or there is the same one already.
  [[nodiscard]] bool restore(AllocationId id, Allocation entry);
  [[nodiscard]] SlotTable<Allocation, AllocationId>& table() { return table_; }
  // Of a page that is built: no part of what is recorded.
  [[nodiscard]] Allocation& scratch(AllocationId id) { return table_.scratch(id.slot()); }

  // Without references yet: the caller adds one a chunk before anything else happens.
  [[nodiscard]] Taken take(const HandleFacts& facts, const NewChunk& declared, SessionId session);
  void add_reference(AllocationId id) { ++table_.at(id.slot()).references; }
  // An account exports it by one chunk more: true with its first.
  bool add_payer(AllocationId id, std::uint32_t account);
  // True with its last.
  bool drop_payer(AllocationId id, std::uint32_t account);
  // By how many chunks.
  [[nodiscard]] std::uint64_t paid_by(AllocationId id, std::uint32_t account) const;
  [[nodiscard]] std::size_t further_payers() const { return payers_.size(); }
  // The last reference puts the handle into `closing`.
  void drop_reference(AllocationId id, std::vector<HandleId>& closing);

  [[nodiscard]] const Allocation* find(AllocationId id) const { return table_.find(id); }
  [[nodiscard]] const Allocation& at(AllocationId id) const { return table_.at(id.slot()); }
  [[nodiscard]] Allocation& at(AllocationId id) { return table_.at(id.slot()); }
  [[nodiscard]] std::uint64_t next_page_stamp() { return ++page_stamp_; }

  [[nodiscard]] std::size_t size() const { return table_.size(); }
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
  [[nodiscard]] const SlotTable<Allocation, AllocationId>& table() const { return table_; }

 private:
  [[nodiscard]] static std::uint64_t key_of(AllocationId id, std::uint32_t account) {
    return std::uint64_t{id.slot()} << 32 | account;
  }
  std::unordered_map<std::uint64_t, std::uint32_t> payers_;  // allocation slot and account: chunks
  [[nodiscard]] std::uint32_t hash_of(const Allocation& entry) const;
  [[nodiscard]] std::uint32_t find_same(const Allocation& wanted) const;
  KeyedHash hash_;
  SlotTable<Allocation, AllocationId> table_;
  SlotIndex by_identity_;
  std::uint64_t bytes_ = 0;
  std::uint64_t page_stamp_ = 0;
};

}  // namespace hb::core
