// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "import_cache.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "clock.h"
#include "import.h"

namespace hb::client {

struct ImportCache::Entry {
  ImportKey key;
  const void* wished = nullptr;     // while it is being made
  std::unique_ptr<hb_import> made;  // empty while it is being made
};

ImportCache::ImportCache(std::uint64_t keep_bytes, Stats& stats) : keep_bytes_(keep_bytes), stats_(stats) {}

// Handles keep their client, and with it this cache, alive: what is left here has no user.
ImportCache::~ImportCache() = default;

ImportCache::Entry* ImportCache::find(std::uint64_t hash, const ImportKey& key, const void* address,
                                      Doomed& doomed) {
  auto [at, end] = index_.equal_range(hash);
  while (at != end) {
    Entry& entry = *at->second;
    if (!(entry.key == key)) {
      ++at;
    } else if (entry.made == nullptr) {
      if (address == nullptr || entry.wished == address) return &entry;
      ++at;
    } else if (!entry.made->is_exact()) {
      // Ended, changed or grown: found no more. Its users keep it until they give it back, and may refresh it
      // for themselves; whoever opens it now gets what is there now, and takes nothing from under them.
      hb_import* const old = entry.made.get();
      ++at;
      unlink(old, doomed);
    } else if (address == nullptr || entry.made->ptr == address) {
      return &entry;
    } else {
      ++at;
    }
  }
  return nullptr;
}

void ImportCache::erase(std::uint64_t hash, const Entry* entry) {
  const auto [begin, end] = index_.equal_range(hash);
  const auto found = std::find_if(begin, end, [&](const auto& slot) { return slot.second.get() == entry; });
  if (found != end) index_.erase(found);
}

void ImportCache::unlink(hb_import* imported, Doomed& doomed) {
  const std::uint64_t hash = imported->key.hash();
  const auto [begin, end] = index_.equal_range(hash);
  const auto found =
      std::find_if(begin, end, [&](const auto& slot) { return slot.second->made.get() == imported; });
  if (found == end) return;
  imported->cached = false;
  std::unique_ptr<hb_import> owned = std::move(found->second->made);
  index_.erase(found);
  if (imported->uses > 0) {
    static_cast<void>(owned.release());  // the last give_back() destroys it
    return;
  }
  idle_.remove(imported);
  idle_bytes_ -= imported->grant.bytes;
  owned->doomed = true;
  doomed.push_back(std::move(owned));
}

void ImportCache::evict(Doomed& doomed) {
  while (idle_bytes_ > keep_bytes_ && !idle_.empty()) {
    unlink(idle_.front(), doomed);
    Stats::add(stats_.evictions);
  }
}

Result<hb_import*> ImportCache::get(const ImportKey& key, void* address, std::uint64_t deadline_ns,
                                    const Make& make) {
  const std::uint64_t hash = key.hash();
  Doomed doomed;  // destroyed after the lock
  std::unique_lock lock(lock_);
  while (Entry* entry = find(hash, key, address, doomed)) {
    if (entry->made != nullptr) {
      hb_import* const hit = entry->made.get();
      if (hit->uses++ == 0) {
        idle_.remove(hit);
        idle_bytes_ -= hit->grant.bytes;
      }
      Stats::add(stats_.cache_hits);
      return hit;
    }
    if (deadline_ns == kNoDeadline)
      made_.wait(lock);
    else if (made_.wait_until(lock, time_point(deadline_ns)) == std::cv_status::timeout &&
             now_ns() >= deadline_ns)
      return fail(HB_TIMEOUT, "another thread was still importing the same at the deadline");
  }
  auto fresh = std::make_unique<Entry>();
  fresh->key = key;
  fresh->wished = address;
  Entry* const entry = fresh.get();
  index_.emplace(hash, std::move(fresh));
  lock.unlock();
  doomed.clear();

  Result<std::unique_ptr<hb_import>> made = fail(HB_INTERNAL, "");
  try {
    made = make();
  } catch (...) {
    lock.lock();
    erase(hash, entry);
    made_.notify_all();
    throw;
  }
  lock.lock();
  made_.notify_all();
  if (!made) {
    erase(hash, entry);
    return tl::unexpected(std::move(made.error()));
  }
  entry->made = std::move(*made);
  entry->made->key = key;
  entry->made->cached = true;
  return entry->made.get();
}

void ImportCache::give_back(hb_import* imported) noexcept {
  std::unique_ptr<hb_import> last;
  Doomed doomed;
  {
    const std::lock_guard guard(lock_);
    if (--imported->uses > 0) return;
    if (!imported->cached) {
      imported->doomed = true;
      last.reset(imported);
    } else {
      const bool keep = keep_bytes_ >= imported->grant.bytes && imported->is_exact();
      try {
        idle_.push_back(imported);
        idle_bytes_ += imported->grant.bytes;
        if (keep)
          evict(doomed);
        else
          unlink(imported, doomed);
      } catch (...) {
        // Out of memory while noting it: it stays mapped until the client goes.
      }
    }
  }
}

ImportCache::Held ImportCache::hold(const LeaseIndex& leases, std::uint64_t lease) {
  Doomed doomed;  // destroyed after the lock
  const std::lock_guard guard(lock_);
  const LeaseIndex::Found found = leases.find(lease);
  if (found.imported == nullptr) return {found.owner, nullptr};
  // Looked up under the lock: whoever dooms it has to take the lock first, and its lease is forgotten only
  // when it is destroyed.
  if (found.imported->doomed) return {};
  if (found.imported->uses == 0) {
    if (!found.imported->is_current()) unlink(found.imported, doomed);
    return {};
  }
  ++found.imported->uses;
  return {found.owner, found.imported};
}

void ImportCache::drop_idle() noexcept {
  Doomed doomed;
  try {
    const std::lock_guard guard(lock_);
    while (!idle_.empty()) unlink(idle_.front(), doomed);
  } catch (...) {
    // As above: what could not be noted goes with the client.
  }
}

}  // namespace hb::client
