// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Which memory of other makers was found to be shareable, or not and why, so that asking again costs no
// driver's export. An answer holds for one allocation: base, size and the driver's number of it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>

#include "error.h"
#include "exported_ranges.h"
#include "fork_guard.h"

namespace hb::client {

struct MemoryIdentity {
  std::uintptr_t base = 0;
  std::uint64_t bytes = 0;
  std::uint64_t buffer_id = 0;  // two allocations, one after the other at one address, differ in it
  bool operator==(const MemoryIdentity&) const = default;
};

class Shareability {
 public:
  // This process's, made at the first call; a forked child has none of its parent's answers.
  [[nodiscard]] static Shareability& get(ProcessMark mark);
  // For a free hook: without a lock where nothing is known near the range.
  [[nodiscard]] static bool may_know(std::uintptr_t start, std::uint64_t bytes) noexcept;
  static void forget(std::uintptr_t start, std::uint64_t bytes);

  struct Answer {
    std::shared_ptr<const Error> refusal;  // none: it is shareable
  };
  [[nodiscard]] std::optional<Answer> find(const MemoryIdentity& memory) const;
  void remember(const MemoryIdentity& memory, Answer answer);

 private:
  explicit Shareability(ProcessMark mark) : mark_(mark) {}
  static Shareability* existing() noexcept;
  void drop(std::uintptr_t start, std::uint64_t bytes);

  struct Known {
    MemoryIdentity memory;
    Answer answer;
  };
  const ProcessMark mark_;
  AddressBounds bounds_;
  mutable std::mutex lock_;
  using Table = std::map<std::uintptr_t, Known>;
  Table known_;  // by base; never overlapping. Nothing is allocated or freed under the lock: a hook that
                 // waits for it may hold the allocator's
};

}  // namespace hb::client
