// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Imports that are mapped, by what was asked for. The same thing asked again is the same mapping, as long as
// it is current; two threads that ask at once make one acquire and one map.
//
// What never happens: a hit on what has ended; an eviction of what is in use; a mapping or a release under
// the lock. Thread-safe.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "error.h"
#include "hipbroker/hipbroker.h"
#include "lease_index.h"
#include "stats.h"

namespace hb::client {

struct ImportKey;

class ImportCache {
 public:
  using Make = std::function<Result<std::unique_ptr<hb_import>>()>;

  // `keep_bytes`: how much stays mapped after its last use.
  ImportCache(std::uint64_t keep_bytes, Stats& stats);
  ~ImportCache();
  ImportCache(const ImportCache&) = delete;
  ImportCache& operator=(const ImportCache&) = delete;

  // A mapping at `address` (nullptr: anywhere), counted once more. `make` runs without the lock, once for
  // all threads that ask meanwhile; who waits for another's make waits until its own deadline, and makes its
  // own when that one failed.
  [[nodiscard]] Result<hb_import*> get(const ImportKey& key, void* address, std::uint64_t deadline_ns,
                                       const Make& make);
  // One use less. The last one keeps it for later or destroys it.
  void give_back(hb_import* imported) noexcept;
  void drop_idle() noexcept;

  struct Held {
    LeaseIndex::Owner owner = LeaseIndex::Owner::kNobody;
    hb_import* imported = nullptr;  // counted once more, to be given back
  };
  // Whom an event of that lease concerns. What nobody uses any more is nobody's, and goes where it is not
  // current any more: it would pin for nothing what others want to see released.
  [[nodiscard]] Held hold(const LeaseIndex& leases, std::uint64_t lease);

 private:
  struct Entry;
  using Index = std::unordered_multimap<std::uint64_t, std::unique_ptr<Entry>>;
  using Doomed = std::vector<std::unique_ptr<hb_import>>;

  Entry* find(std::uint64_t hash, const ImportKey& key, const void* address, Doomed& doomed);
  void erase(std::uint64_t hash, const Entry* entry);
  void unlink(hb_import* imported, Doomed& doomed);
  void evict(Doomed& doomed);

  const std::uint64_t keep_bytes_;
  Stats& stats_;
  std::mutex lock_;
  std::condition_variable made_;
  Index index_;
  std::list<hb_import*> idle_;  // least recently used first
  std::uint64_t idle_bytes_ = 0;
};

}  // namespace hb::client
