// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Where in this process's address space its exports lie, whichever client made them. Asked from free and
// munmap hooks: while nothing is exported, or nothing near, the answer costs a few loads and no lock.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "fork_guard.h"

namespace hb::client {

struct ExportRecord;

struct AddressSpan {
  std::uintptr_t start = 0;
  std::uint64_t bytes = 0;
  [[nodiscard]] bool overlaps(std::uintptr_t other, std::uint64_t other_bytes) const noexcept {
    return other < start ? start - other < other_bytes : other - start < bytes;
  }
};

// The smallest interval that holds all spans added since there was none. Read without a lock, written under
// the owner's.
class AddressBounds {
 public:
  [[nodiscard]] bool may_overlap(std::uintptr_t start, std::uint64_t bytes) const noexcept;
  void add(const AddressSpan& span) noexcept;
  void remove() noexcept;  // one of them

 private:
  std::atomic<std::uint64_t> count_{0};
  std::atomic<std::uintptr_t> low_{UINTPTR_MAX};
  std::atomic<std::uintptr_t> high_{0};  // behind the last byte
};

class ExportedRanges {
 public:
  // What one export covers. Announced before the first driver call, so that memory given back meanwhile is
  // noticed; removed by destruction. publish() and remove() may come from several threads.
  class Ticket {
   public:
    Ticket() = default;
    Ticket(Ticket&& other) noexcept = default;
    Ticket& operator=(Ticket&& other) noexcept;
    ~Ticket() { remove(); }

    // The export exists now. False: the memory was given back meanwhile, and whoever did waits for this
    // ticket's end.
    [[nodiscard]] bool publish(const std::shared_ptr<ExportRecord>& record);
    void remove() noexcept;

   private:
    friend class ExportedRanges;
    struct Entry;
    Ticket(ExportedRanges* ranges, std::shared_ptr<Entry> entry);
    ExportedRanges* ranges_ = nullptr;
    std::shared_ptr<Entry> entry_;
  };

  [[nodiscard]] static Ticket announce(std::vector<AddressSpan> spans, ProcessMark mark);
  // nullptr: nothing was exported by address in this process. A forked child has none of its parent's.
  [[nodiscard]] static ExportedRanges* find() noexcept;

  [[nodiscard]] bool may_overlap(std::uintptr_t start, std::uint64_t bytes) const noexcept {
    return bounds_.may_overlap(start, bytes);
  }
  // The exports over the range, some perhaps twice, and those in the making, which learn that their memory is
  // gone.
  struct Over {
    std::vector<std::shared_ptr<ExportRecord>> records;
    std::vector<std::shared_ptr<void>> in_making;
  };
  [[nodiscard]] Over over(std::uintptr_t start, std::uint64_t bytes) { return collect(start, bytes, true); }
  // The same, and nobody learns anything: the memory stays.
  [[nodiscard]] Over look(std::uintptr_t start, std::uint64_t bytes) { return collect(start, bytes, false); }
  // False: not all of them have ended at the deadline.
  [[nodiscard]] bool wait_for(const Over& over, std::uint64_t deadline_ns);

 private:
  explicit ExportedRanges(ProcessMark mark) : mark_(mark) {}

  Over collect(std::uintptr_t start, std::uint64_t bytes, bool memory_gone);
  template <class Visit>
  void each(std::uintptr_t start, std::uint64_t bytes, Visit visit);

  using Spans = std::multimap<std::uintptr_t, std::pair<std::uint64_t, Ticket::Entry*>>;

  const ProcessMark mark_;
  AddressBounds bounds_;
  std::mutex lock_;
  std::condition_variable ended_;
  Spans spans_;                // start: bytes, whose
  std::uint64_t longest_ = 0;  // of those since there was none
};

}  // namespace hb::client
