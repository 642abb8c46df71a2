// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// What only some exports have: growth, sleep, a lifetime beyond the owner, tickets, steps. Allocated with
// the first of them, so that a plain export costs nothing.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "core/effect.h"
#include "core/slot_table.h"
#include "core/types.h"

namespace hb::core {

// Which chunks are others than they were, by the layout version that brought it.
class ChangeLog {
 public:
  void add(std::uint64_t version, ChunkRun chunks);
  // Since `version`, as runs without overlap in rising order; every chunk below `count` where it is not known
  // one by one any more.
  [[nodiscard]] std::vector<ChunkRun> since(std::uint64_t version, std::uint64_t count) const;
  [[nodiscard]] bool touched_since(std::uint64_t version, ChunkRun range) const;

  struct Entry {
    std::uint64_t version = 0;
    ChunkRun chunks;
  };
  [[nodiscard]] const std::deque<Entry>& entries() const { return entries_; }
  [[nodiscard]] std::uint64_t forgotten() const { return forgotten_; }
  void restore_forgotten(std::uint64_t version) { forgotten_ = version; }

 private:
  std::deque<Entry> entries_;    // oldest first
  std::uint64_t forgotten_ = 0;  // the youngest version that is not in entries_ any more
};

struct ExportLife {
  std::uint64_t max_size = 0;  // it may grow to so much; 0 = it does not grow
  ChangeLog changes;

  // --- lifetime ---
  std::uint64_t linger_ns = 0;
  std::uint32_t linger_ticket = kNoSlot;  // in the deadline queue, while orphaned
  Time linger_end = kNever;

  // --- after its owner or itself has gone, for those who ask ---
  std::shared_ptr<const ProcessInfo> owner;
  SessionId owner_session;
  std::uint32_t owner_gid = 0;
  std::uint64_t ended_size = 0;
  std::uint64_t ended_chunks = 0;

  // --- sleep ---
  std::uint64_t suspended_size = 0;            // how large it was,
  std::vector<std::uint64_t> suspended_sizes;  // each of them: resume brings the same
  std::uint64_t unmap_asked = 0;               // leases that have not answered the suspension

  // --- a restart ---
  // Until linger_end for its owner: the owner's connection or the descriptors went with the daemon before
  // this one. It sleeps meanwhile.
  bool awaited = false;
  bool lost = false;  // it was awake, and holders have mapped what the owner is to bring again

  // --- who waits for it: leases to go, holders to unmap, steps, acknowledgements ---
  std::uint32_t waits = kNoSlot;  // list through Wait::of_line

  // --- tickets ---
  std::uint32_t tickets = kNoSlot;  // list through Ticket::of_export
  std::uint32_t ticket_count = 0;
  std::uint32_t pinning = 0;  // leases that came of a ticket

  // --- steps ---
  std::uint64_t step = 0;  // the last one published
  struct Departed {        // ended without having acknowledged `step`
    LeaseId lease;
    SessionId session;
    std::uint32_t uid = 0;
    std::uint32_t gid = 0;
    std::shared_ptr<const ProcessInfo> process;
    std::uint64_t acked_step = 0;
  };
  std::vector<Departed> departed;  // since it was published, bounded
  bool more_departed = false;      // than that
};

}  // namespace hb::core
