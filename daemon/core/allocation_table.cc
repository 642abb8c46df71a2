// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "core/allocation_table.h"

namespace hb::core {

std::uint32_t AllocationTable::find_same(const Allocation& wanted) const {
  return by_identity_.find(wanted.hash, [&](std::uint32_t slot) {
    const Allocation& a = table_.at(slot);
    // A declared identity says nothing about the size, which is declared as well: another size is another
    // allocation.
    return a.kind == wanted.kind && a.writable == wanted.writable && a.device == wanted.device &&
           a.inode == wanted.inode && a.declared_by == wanted.declared_by &&
           (!a.declared_by || a.size == wanted.size);
  });
}

std::uint32_t AllocationTable::hash_of(const Allocation& entry) const {
  return hash_(KeyedHash::Input()
                   .add(static_cast<std::uint64_t>(entry.kind))
                   .add(std::uint64_t{entry.writable})
                   .add(entry.device)
                   .add(entry.inode)
                   .add(entry.declared_by.value));
}

bool AllocationTable::restore(AllocationId id, Allocation entry) {
  if (entry.mergeable) {
    entry.hash = hash_of(entry);
    if (find_same(entry) != kNoSlot) return false;
  }
  if (!table_.emplace_at(id, entry)) return false;
  if (entry.mergeable) by_identity_.insert(entry.hash, id.slot());
  bytes_ += entry.size;
  return true;
}

AllocationTable::Taken AllocationTable::take(const HandleFacts& facts, const NewChunk& declared,
                                             SessionId session) {
  Allocation entry;
  entry.handle = facts.id;
  entry.size = facts.size_known ? facts.size : declared.object_size;
  entry.kind = facts.kind;
  entry.writable = facts.writable;
  entry.sealed = facts.sealed;
  entry.size_known = facts.size_known;
  if (facts.identity_known) {
    entry.mergeable = true;
    entry.device = facts.device;
    entry.inode = facts.inode;
  } else if (declared.identity != 0) {
    entry.mergeable = true;
    entry.inode = declared.identity;
    entry.declared_by = session;
  }
  if (entry.mergeable) {
    entry.hash = hash_of(entry);
    if (const std::uint32_t same = find_same(entry); same != kNoSlot) return {table_.id_of(same), true};
  }
  const std::uint32_t slot = table_.emplace(entry);
  if (entry.mergeable) by_identity_.insert(entry.hash, slot);
  bytes_ += entry.size;
  return {table_.id_of(slot), false};
}

bool AllocationTable::add_payer(AllocationId id, std::uint32_t account) {
  Allocation& entry = table_.at(id.slot());
  if (entry.payer == account) {
    ++entry.payer_chunks;
    return false;
  }
  if (const auto further = payers_.find(key_of(id, account)); further != payers_.end()) {
    ++further->second;
    return false;
  }
  if (entry.payer == kNoSlot) {
    entry.payer = account;
    entry.payer_chunks = 1;
  } else {
    payers_.emplace(key_of(id, account), 1);
  }
  return true;
}

bool AllocationTable::drop_payer(AllocationId id, std::uint32_t account) {
  Allocation& entry = table_.at(id.slot());
  if (entry.payer == account) {
    if (--entry.payer_chunks != 0) return false;
    entry.payer = kNoSlot;
    return true;
  }
  const auto further = payers_.find(key_of(id, account));
  if (--further->second != 0) return false;
  payers_.erase(further);
  return true;
}

std::uint64_t AllocationTable::paid_by(AllocationId id, std::uint32_t account) const {
  const Allocation& entry = table_.at(id.slot());
  if (entry.payer == account) return entry.payer_chunks;
  const auto further = payers_.find(key_of(id, account));
  return further == payers_.end() ? 0 : further->second;
}

void AllocationTable::drop_reference(AllocationId id, std::vector<HandleId>& closing) {
  Allocation& entry = table_.at(id.slot());
  if (--entry.references != 0) return;
  closing.push_back(entry.handle);
  bytes_ -= entry.size;
  if (entry.mergeable) by_identity_.erase(entry.hash, id.slot());
  table_.erase(id.slot());
}

}  // namespace hb::core
